import Crypto
import CryptoExtras
import Foundation
import SwiftASN1
import Testing
import X509

@testable import RelyingParty

@Suite struct TPMAttestationTests {
    /// A TPM's statement, part by part.
    private struct Parts {
        var magic: [UInt8] = [0xFF, 0x54, 0x43, 0x47]
        var type: [UInt8] = [0x80, 0x17]
        var nameAlgorithm: [UInt8] = [0x00, 0x0B]
        var area: (([UInt8]) -> [UInt8]) = { $0 }
        var information: (([UInt8]) -> [UInt8]) = { $0 }
        var extraData: (([UInt8]) -> [UInt8]) = { $0 }
        var name: (([UInt8]) -> [UInt8]) = { $0 }
        /// The key in the public area, if it is to be another than the credential's.
        var key: TestKey?

        static func string(_ bytes: [UInt8]) -> [UInt8] { CBORItem.bigEndian(bytes.count, count: 2) + bytes }

        func publicArea(_ key: TestKey) throws -> [UInt8] {
            switch key {
            case .p256(let key): area(point(3, key.publicKey.rawRepresentation))
            case .p384(let key): area(point(4, key.publicKey.rawRepresentation))
            case .p521(let key): area(point(5, key.publicKey.rawRepresentation))
            case .rsa(let key, _): area(rsa(Array(try key.publicKey.getKeyPrimitives().modulus)))
            // No kind of object of TPM 2.0.
            case .ed25519, .mlDSA44, .mlDSA65, .mlDSA87: area([0, 0x25] + head)
            }
        }

        /// The hash of the name, attributes, no policy.
        private var head: [UInt8] { nameAlgorithm + [0, 0, 0, 0, 0, 0] }

        /// Neither cipher nor scheme, the curve, no derivation, the coordinates.
        private func point(_ curve: UInt8, _ raw: Data) -> [UInt8] {
            let (x, y) = (Array(raw.prefix(raw.count / 2)), Array(raw.suffix(raw.count / 2)))
            let parts: [[UInt8]] = [
                [0, 0x23], head, [0, 0x10, 0, 0x10, 0, curve, 0, 0x10], Self.string(x), Self.string(y),
            ]
            return parts.flatMap { $0 }
        }

        /// A cipher and a scheme, 2,048 bits, the usual exponent, the modulus.
        private func rsa(_ modulus: [UInt8]) -> [UInt8] {
            let parts: [[UInt8]] = [
                [0, 1], head, [0, 0x06, 0, 128, 0, 0x43, 0, 0x14, 0, 0x0B, 8, 0, 0, 0, 0, 0], Self.string(modulus),
            ]
            return parts.flatMap { $0 }
        }

        func certInfo(_ message: [UInt8], area: [UInt8]) -> [UInt8] {
            let extra = extraData(Array(SHA256.hash(data: message)))
            let attested = name(nameAlgorithm + Array(SHA256.hash(data: area)))
            let parts: [[UInt8]] = [
                magic, type, Self.string([1, 2]), Self.string(extra), [UInt8](repeating: 0, count: 25),
                Self.string(attested), Self.string([3]),
            ]
            return information(parts.flatMap { $0 })
        }
    }

    private static func name(maker: String? = "id:FFFFF1D0", model: String? = "m", version: String? = "id:13") throws
        -> DistinguishedName
    {
        let types = RelativeDistinguishedName.Attribute.self
        let attributes = [
            maker.map { types.init(type: [2, 23, 133, 2, 1], utf8String: $0) },
            model.map { types.init(type: [2, 23, 133, 2, 2], utf8String: $0) },
            version.map { types.init(type: [2, 23, 133, 2, 3], utf8String: $0) },
        ]
        return DistinguishedName([RelativeDistinguishedName(attributes.compactMap { $0 })])
    }

    private static func leaf() throws -> TestLeaf {
        var leaf = try TestLeaf()
        leaf.subject = DistinguishedName()
        let usage = ExtendedKeyUsage.Usage(oid: [2, 23, 133, 8, 3])
        leaf.extensions += [
            try Certificate.Extension(SubjectAlternativeNames([.directoryName(name())]), critical: true),
            try Certificate.Extension(ExtendedKeyUsage([usage]), critical: true),
        ]
        return leaf
    }

    private static func register(
        _ verifier: WebAuthnVerifier = .example, authority: TestAuthority? = nil, credential: COSEAlgorithm = .es256,
        signer: COSEAlgorithm = .es256, leaf: TestLeaf? = nil, _ parts: (inout Parts) throws -> Void = { _ in },
        statement change: (inout TestStatement) throws -> Void = { _ in }
    ) async throws -> Registration {
        let authenticator = try TestAuthenticator(credential)
        var made = Parts()
        try parts(&made)
        let signer = try TestKey(signer)
        let certificate = try (authority ?? TestAuthority()).issue(leaf ?? Self.leaf(), for: signer.certificateKey)
        let response = try authenticator.registration(format: "tpm") { data, hash in
            let area = try made.publicArea(made.key ?? authenticator.key)
            let information = made.certInfo(data + hash, area: area)
            var statement = TestStatement(members: [
                ("alg", .number(signer.algorithm.rawValue)), ("sig", .bytes(try signer.sign(information))),
                ("ver", .text("2.0")), ("x5c", try [certificate].chain), ("pubArea", .bytes(area)),
                ("certInfo", .bytes(information)),
            ])
            try change(&statement)
            return statement.item
        }
        return try await verifier.register(response)
    }

    private func refused(_ error: AttestationError) -> CeremonyError { .attestation(error) }

    @Test(arguments: [COSEAlgorithm.es256, .es384, .es512, .rs256])
    func `a TPM attests its keys`(_ algorithm: COSEAlgorithm) async throws {
        let root = try TestAuthority()
        let verifier = try WebAuthnVerifier.trusting(root.certificate, .tpm, .anchored)
        for signer in [COSEAlgorithm.es256, .rs256] {
            let registration = try await Self.register(
                verifier, authority: root, credential: algorithm, signer: signer)
            #expect(registration.format == .tpm && registration.trust == .anchored)
        }
    }

    /// Older TPMs sign with nothing else.
    @Test func `a TPM may sign with SHA-1`() async throws {
        let (root, key) = (try TestAuthority(), try _RSA.Signing.PrivateKey(keySize: .bits2048))
        let certificate = try root.issue(Self.leaf(), for: Certificate.PublicKey(key.publicKey))
        let authenticator = try TestAuthenticator()
        let response = try authenticator.registration(format: "tpm") { data, hash in
            var parts = Parts()
            parts.extraData = { _ in Array(Insecure.SHA1.hash(data: data + hash)) }
            let area = try parts.publicArea(authenticator.key)
            let information = parts.certInfo(data + hash, area: area)
            let signature = try key.signature(for: Insecure.SHA1.hash(data: information), padding: .insecurePKCS1v1_5)
            return TestStatement(members: [
                ("alg", .number(-65535)), ("sig", .bytes(Array(signature.rawRepresentation))), ("ver", .text("2.0")),
                ("x5c", try [certificate].chain), ("pubArea", .bytes(area)), ("certInfo", .bytes(information)),
            ]).item
        }
        let verifier = try WebAuthnVerifier.trusting(root.certificate, .tpm, .anchored)
        #expect(try await verifier.register(response).trust == .anchored)
    }

    @Test func `a statement of something else is refused`() async throws {
        await #expect(throws: refused(.tpmStatement(.magic))) { try await Self.register { $0.magic[3] ^= 1 } }
        await #expect(throws: refused(.tpmStatement(.type))) { try await Self.register { $0.type[1] = 0x18 } }
        await #expect(throws: refused(.challengeMismatch)) {
            try await Self.register { $0.extraData = { [$0[0] ^ 1] + $0.dropFirst() } }
        }
        await #expect(throws: refused(.challengeMismatch)) { try await Self.register { $0.extraData = { _ in [] } } }
        await #expect(throws: refused(.tpmStatement(.name))) {
            try await Self.register { $0.name = { $0.dropLast() + [$0[33] ^ 1] } }
        }
        await #expect(throws: refused(.tpmStatement(.name))) { try await Self.register { $0.name = { _ in [] } } }
        await #expect(throws: refused(.tpmStatement(.nameAlgorithm))) {
            try await Self.register { $0.nameAlgorithm = [0, 0x10] }
        }
        for version in ["1.2", "2", "2.0 ", ""] {
            await #expect(throws: refused(.tpmStatement(.version))) {
                try await Self.register(statement: { $0["ver"] = .text(version) })
            }
        }
    }

    @Test func `another key is refused`() async throws {
        for algorithm in [COSEAlgorithm.es256, .es384, .rs256] {
            await #expect(throws: refused(.keyMismatch)) { try await Self.register { $0.key = try TestKey(algorithm) } }
        }
        await #expect(throws: refused(.tpmStatement(.keyType))) {
            try await Self.register { $0.key = try TestKey(.edDSA) }
        }
        // A number with a zero too much in front is not the coordinate.
        await #expect(throws: refused(.keyMismatch)) {
            try await Self.register { $0.area = { Array($0.dropLast(34)) + [0, 33, 0] + $0.suffix(32) } }
        }
    }

    @Test func `structures are read to their end and not beyond`() async throws {
        for change in [{ Array($0.dropLast()) }, { $0 + [0] }, { _ in [0, 0x23] }, { _ in [] }]
            as [([UInt8]) -> [UInt8]]
        {
            await #expect(throws: refused(.tpmStructureUnreadable(.pubArea))) {
                try await Self.register { $0.area = change }
            }
        }
        for change in [
            { Array($0.dropLast()) }, { $0 + [0] }, { Array($0.prefix(6)) }, { Array($0.prefix(4)) }, { _ in [] },
        ] as [([UInt8]) -> [UInt8]] {
            await #expect(throws: refused(.tpmStructureUnreadable(.certInfo))) {
                try await Self.register { $0.information = change }
            }
        }
    }

    @Test func `the signature must be the certificate's`() async throws {
        await #expect(throws: refused(.signatureInvalid)) {
            try await Self.register(statement: { $0["sig"] = .bytes(try TestKey(.es256).sign([1])) })
        }
        await #expect(throws: refused(.algorithm(-8))) {
            try await Self.register(statement: { $0["alg"] = .number(-8) })
        }
    }

    @Test func `members are there, of their types, and no others`() async throws {
        for member in AttestationMember.allCases {
            await #expect(throws: refused(.missing(member))) {
                try await Self.register(statement: { $0[member.rawValue] = nil })
            }
            await #expect(throws: refused(.mistyped(member))) {
                try await Self.register(statement: { $0[member.rawValue] = .null })
            }
        }
        await #expect(throws: refused(.unexpectedMember)) {
            try await Self.register(statement: { $0["ecdaaKeyId"] = .bytes([]) })
        }
    }

    @Test func `the certificate is one of a TPM's attestation key`() async throws {
        func expect(_ error: AttestationError, _ change: (inout TestLeaf) throws -> Void) async throws {
            var changed = try Self.leaf()
            try change(&changed)
            let leaf = changed
            await #expect(throws: refused(error)) { try await Self.register(leaf: leaf) }
        }
        try await expect(.certificate(.version3)) { $0.version = .v1 }
        try await expect(.certificate(.subject)) { $0.subject = try TestLeaf.subject() }
        try await expect(.certificate(.notAuthority)) { $0.extensions.removeFirst() }
        try await expect(.certificate(.alternativeName)) { $0.extensions.remove(at: 1) }
        try await expect(.certificate(.extendedKeyUsage)) { $0.extensions.remove(at: 2) }
        try await expect(.certificate(.extendedKeyUsage)) {
            $0.extensions[2] = try Certificate.Extension(ExtendedKeyUsage([.clientAuth]), critical: true)
        }
        let names = [
            try Self.name(maker: nil), try Self.name(maker: "FFFFF1D0"), try Self.name(maker: "id:FFFFF1D"),
            try Self.name(maker: "id:FFFFF1DX"), try Self.name(model: nil), try Self.name(model: ""),
            try Self.name(version: nil),
        ]
        for name in names {
            try await expect(.certificate(.alternativeName)) {
                $0.extensions[1] = try Certificate.Extension(
                    SubjectAlternativeNames([.directoryName(name)]), critical: true)
            }
        }
        try await expect(.certificate(.alternativeName)) {
            $0.extensions[1] = try Certificate.Extension(
                SubjectAlternativeNames([.dnsName("id:FFFFF1D0")]), critical: true)
        }
        try await expect(.extensionUnreadable) { $0.extensions[1].value = [0x05, 0x00] }
        try await expect(.modelMismatch) { $0.extensions.append(TestLeaf.model([UInt8](repeating: 1, count: 16))) }
    }
}
