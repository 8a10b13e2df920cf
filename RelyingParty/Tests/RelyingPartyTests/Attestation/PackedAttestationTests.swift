import Crypto
import CryptoExtras
import Foundation
import SwiftASN1
import Testing
import X509

@testable import RelyingParty

@Suite struct PackedAttestationTests {
    /// A registration with an attestation certificate. The members of the statement may be changed after it is signed.
    private static func register(
        _ verifier: WebAuthnVerifier = .example, authority: TestAuthority? = nil, signer: TestKey? = nil,
        leaf: TestLeaf? = nil, chain: [Certificate] = [], aaguid: [UInt8]? = nil,
        _ change: (inout TestStatement) throws -> Void = { _ in }
    ) async throws -> Registration {
        var authenticator = try TestAuthenticator()
        authenticator.aaguid = aaguid ?? authenticator.aaguid
        let signer = try signer ?? TestKey(.es256)
        let authority = try authority ?? TestAuthority()
        let certificate = try authority.issue(try leaf ?? TestLeaf(), for: signer.certificateKey)
        let response = try authenticator.registration(format: "packed") { data, hash in
            var statement = TestStatement(members: [
                ("alg", .number(signer.algorithm.rawValue)), ("sig", .bytes(try signer.sign(data + hash))),
                ("x5c", try ([certificate] + chain).chain),
            ])
            try change(&statement)
            return statement.item
        }
        return try await verifier.register(response)
    }

    /// A registration that the credential's own key attests.
    private static func registerAlone(
        _ algorithm: COSEAlgorithm = .es256, _ change: (inout TestStatement) throws -> Void = { _ in }
    ) async throws -> Registration {
        let authenticator = try TestAuthenticator(algorithm)
        let response = try authenticator.registration(format: "packed") { data, hash in
            var statement = TestStatement(members: [
                ("alg", .number(algorithm.rawValue)), ("sig", .bytes(try authenticator.key.sign(data + hash))),
            ])
            try change(&statement)
            return statement.item
        }
        return try await WebAuthnVerifier.example.register(response)
    }

    private func refused(_ error: AttestationError) -> CeremonyError { .attestation(error) }

    private func expectRefusal(
        _ error: AttestationError, _ leaf: TestLeaf, aaguid: [UInt8]? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        await #expect(throws: refused(error), sourceLocation: sourceLocation) {
            try await Self.register(leaf: leaf, aaguid: aaguid)
        }
    }

    // MARK: the credential's own key

    @Test(arguments: COSEAlgorithm.allCases)
    func `a credential attests itself`(_ algorithm: COSEAlgorithm) async throws {
        let registration = try await Self.registerAlone(algorithm)
        #expect(registration.format == .packed && registration.trust == .credentialKey)
    }

    @Test func `another key, another algorithm and another signature are refused`() async throws {
        await #expect(throws: refused(.signatureInvalid)) {
            try await Self.registerAlone { $0["sig"] = .bytes(try TestKey(.es256).sign([1])) }
        }
        await #expect(throws: refused(.signatureInvalid)) { try await Self.registerAlone { $0["sig"] = .bytes([]) } }
        await #expect(throws: refused(.algorithm(-8))) { try await Self.registerAlone { $0["alg"] = .number(-8) } }
        await #expect(throws: refused(.algorithm(-257))) {
            try await Self.registerAlone(.edDSA) { $0["alg"] = .number(-257) }
        }
    }

    // MARK: certificates

    @Test(arguments: TestKey.certified)
    func `a certificate's key attests`(_ algorithm: COSEAlgorithm) async throws {
        let registration = try await Self.register(signer: try TestKey(algorithm))
        #expect(registration.trust == .certificate)
    }

    @Test func `members are there, of their types, and no others`() async throws {
        for member in [AttestationMember.alg, .sig] {
            await #expect(throws: refused(.missing(member))) { try await Self.register { $0[member.rawValue] = nil } }
        }
        // Without certificates the credential would attest itself, and it did not sign.
        await #expect(throws: refused(.signatureInvalid)) { try await Self.register { $0["x5c"] = nil } }
        for member in [AttestationMember.alg, .sig, .x5c] {
            for other in [CBORItem.text("x"), .null, .map([])] {
                await #expect(throws: refused(.mistyped(member))) {
                    try await Self.register { $0[member.rawValue] = other }
                }
            }
        }
        for name in ["ecdaaKeyId", "ver", "Sig", ""] {
            await #expect(throws: refused(.unexpectedMember)) { try await Self.register { $0[name] = .bytes([]) } }
        }
    }

    @Test func `one to eight certificates are read`() async throws {
        let certificate = try TestAuthority().certificate
        let root = CBORItem.bytes(try certificate.der)
        for count in [0, 9, 64] {
            await #expect(throws: refused(.certificateCount(count))) {
                try await Self.register { $0["x5c"] = .array([CBORItem](repeating: root, count: count)) }
            }
        }
        for other in [CBORItem.number(1), .array([]), .text("x")] {
            await #expect(throws: refused(.mistyped(.x5c))) { try await Self.register { $0["x5c"] = .array([other]) } }
        }
        let seven = [Certificate](repeating: certificate, count: 7)
        #expect(try await Self.register(chain: seven).trust == .certificate)
    }

    @Test func `of certificates with the same subject one is tried, so that a search stays short`() async throws {
        let root = try TestAuthority("Root")
        let issuer = try TestAuthority("Issuer", issuedBy: root)
        let verifier = try WebAuthnVerifier.trusting(root.certificate, .packed)
        let leaf = try issuer.issue(try TestLeaf(), for: try TestKey(.es256).certificateKey)
        let strangers = try (0..<7).map { _ in try TestAuthority("Issuer").certificate }
        let chain = CertificateChain(leaf, others: [issuer.certificate] + strangers + [root.certificate])
        #expect(chain.others == [issuer.certificate, root.certificate])
        let others = [root.certificate, issuer.certificate] + strangers.prefix(5)
        #expect(try await Self.register(verifier, authority: issuer, chain: others).trust == .anchored)
        let late = strangers.prefix(1) + [issuer.certificate]
        #expect(try await Self.register(verifier, authority: issuer, chain: Array(late)).trust == .certificate)
    }

    @Test func `bytes that are no certificate are refused by their place`() async throws {
        let der = try TestAuthority().certificate.der
        for bytes in [[], [0x30, 0x00], Array(der.dropLast()), der + [0]] {
            await #expect(throws: refused(.certificateUnreadable(0))) {
                try await Self.register { $0["x5c"] = .array([.bytes(bytes)]) }
            }
            await #expect(throws: refused(.certificateUnreadable(1))) {
                try await Self.register { $0["x5c"] = .array([.bytes(der), .bytes(bytes)]) }
            }
        }
    }

    @Test func `the signature must be the certificate's, of its algorithm`() async throws {
        for algorithm in [COSEAlgorithm.es384, .es512, .rs256, .ps256, .edDSA] {
            await #expect(throws: refused(.signatureInvalid)) {
                try await Self.register { $0["alg"] = .number(algorithm.rawValue) }
            }
        }
        for number in [0, -48, -53, -999] {
            await #expect(throws: refused(.algorithm(number))) {
                try await Self.register { $0["alg"] = .number(number) }
            }
        }
        await #expect(throws: refused(.signatureInvalid)) {
            try await Self.register { $0["sig"] = .bytes(try TestKey(.es256).sign([1])) }
        }
        await #expect(throws: refused(.signatureInvalid)) {
            try await Self.register { $0["sig"] = .bytes([UInt8](repeating: 0, count: 2000)) }
        }
    }

    /// The signature is right: it is the algorithm that is refused.
    @Test func `a signature with SHA-1 is refused, alone and with a certificate`() async throws {
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let authenticator = try TestAuthenticator()
        let certificate = try TestAuthority().issue(TestLeaf(), for: Certificate.PublicKey(key.publicKey))
        func response(_ algorithm: Int, certified: Bool = true) throws -> RegistrationResponse {
            try authenticator.registration(format: "packed") { data, hash in
                let message = Data(data + hash)
                let signature =
                    algorithm == -65535
                    ? try key.signature(for: Insecure.SHA1.hash(data: message), padding: .insecurePKCS1v1_5)
                    : try key.signature(for: SHA256.hash(data: message), padding: .insecurePKCS1v1_5)
                var statement = TestStatement(members: [
                    ("alg", .number(algorithm)), ("sig", .bytes(Array(signature.rawRepresentation))),
                ])
                if certified { statement["x5c"] = try [certificate].chain }
                return statement.item
            }
        }
        #expect(try await WebAuthnVerifier.example.register(response(-257)).trust == .certificate)
        for certified in [true, false] {
            let refused = try response(-65535, certified: certified)
            await #expect(throws: self.refused(.algorithm(-65535))) {
                try await WebAuthnVerifier.example.register(refused)
            }
        }
    }

    @Test func `the subject has all its parts`() async throws {
        let subjects = [
            try TestLeaf.subject(country: nil), try TestLeaf.subject(country: "AAA"),
            try TestLeaf.subject(organization: nil), try TestLeaf.subject(organization: ""),
            try TestLeaf.subject(unit: nil), try TestLeaf.subject(unit: "authenticator attestation"),
            try TestLeaf.subject(name: nil), try TestLeaf.subject(name: ""),
        ]
        for subject in subjects {
            var leaf = try TestLeaf()
            leaf.subject = subject
            await expectRefusal(.certificate(.subject), leaf)
        }
    }

    @Test func `a certificate of version 1, and one of an authority, are refused`() async throws {
        var leaf = try TestLeaf()
        leaf.version = .v1
        await expectRefusal(.certificate(.version3), leaf)
        leaf = try TestLeaf()
        leaf.extensions = []
        await expectRefusal(.certificate(.notAuthority), leaf)
        leaf.extensions = [try TestLeaf.constraints(.isCertificateAuthority(maxPathLength: nil))]
        await expectRefusal(.certificate(.notAuthority), leaf)
        leaf.extensions = [Certificate.Extension(oid: [2, 5, 29, 19], critical: true, value: [0x05, 0x00])]
        await expectRefusal(.extensionUnreadable, leaf)
    }

    @Test func `a certificate for another model is refused`() async throws {
        let model = (0..<16).map { UInt8($0) }
        var leaf = try TestLeaf()
        leaf.extensions.append(TestLeaf.model(model))
        #expect(try await Self.register(leaf: leaf, aaguid: model).trust == .certificate)
        await expectRefusal(.modelMismatch, leaf)
        leaf.extensions[1] = TestLeaf.model(Array(model.dropLast()))
        await expectRefusal(.modelMismatch, leaf, aaguid: model)
        leaf.extensions[1] = TestLeaf.model(model, critical: true)
        await expectRefusal(.extensionUnreadable, leaf, aaguid: model)
        leaf.extensions[1].value = [0x02, 0x01, 0x00]
        await expectRefusal(.extensionUnreadable, leaf, aaguid: model)
    }

    // MARK: anchors

    @Test func `a chain to an anchor is trusted, with authorities in between too`() async throws {
        let root = try TestAuthority()
        let between = try TestAuthority("Between", issuedBy: root)
        let verifier = try WebAuthnVerifier.trusting(root.certificate, .packed, .anchored)
        #expect(try await Self.register(verifier, authority: root).trust == .anchored)
        let chain = [between.certificate]
        #expect(try await Self.register(verifier, authority: between, chain: chain).trust == .anchored)
        // The client left the authority in between out.
        await #expect(throws: refused(.untrusted)) { try await Self.register(verifier, authority: between) }
    }

    @Test func `a certificate without anchor says less, or is refused`() async throws {
        let other = try TestAuthority()
        let any = try WebAuthnVerifier.trusting(other.certificate, .packed)
        #expect(try await Self.register(any).trust == .certificate)
        let anchored = try WebAuthnVerifier.trusting(other.certificate, .packed, .anchored)
        await #expect(throws: refused(.untrusted)) { try await Self.register(anchored) }
        // An anchor for another format is none for this one.
        let authority = try TestAuthority()
        let apple = try WebAuthnVerifier.trusting(authority.certificate, .apple, .anchored)
        await #expect(throws: refused(.untrusted)) { try await Self.register(apple, authority: authority) }
    }

    /// One model's certificate, which its maker issued to itself or under an authority that nobody knows.
    @Test func `an anchor may be the attestation certificate itself, while it is valid`() async throws {
        let (authority, signer) = (try TestAuthority(), try TestKey(.es256))
        var leaf = try TestLeaf()
        func registered(_ anchor: TestLeaf, _ leaf: TestLeaf) async throws -> AttestationTrust {
            let anchor = try authority.issue(anchor, for: signer.certificateKey)
            let certificate = anchor.subject == leaf.subject && leaf.notAfter == anchor.notValidAfter ? anchor : nil
            let verifier = try WebAuthnVerifier.trusting(anchor, .packed)
            return try await Self.register(verifier, authority: authority, signer: signer, leaf: leaf) {
                if let certificate { $0["x5c"] = try [certificate].chain }
            }.trust
        }
        #expect(try await registered(leaf, leaf) == .anchored)
        // Another certificate of the same authority and the same key is another one.
        var other = leaf
        other.notAfter += 1
        #expect(try await registered(leaf, other) == .certificate)
        leaf.notAfter = WebAuthnVerifier.date - 1
        #expect(try await registered(leaf, leaf) == .certificate)
    }

    @Test func `an expired certificate leads to no anchor`() async throws {
        let root = try TestAuthority()
        var leaf = try TestLeaf()
        leaf.notAfter = WebAuthnVerifier.date - 50
        let verifier = try WebAuthnVerifier.trusting(root.certificate, .packed)
        #expect(try await Self.register(verifier, authority: root, leaf: leaf).trust == .certificate)
    }

    @Test func `a critical extension that nobody checks leads to no anchor`() async throws {
        let root = try TestAuthority()
        var leaf = try TestLeaf()
        leaf.extensions.append(Certificate.Extension(oid: [1, 2, 3, 4], critical: true, value: [0x05, 0x00]))
        let verifier = try WebAuthnVerifier.trusting(root.certificate, .packed)
        #expect(try await Self.register(verifier, authority: root, leaf: leaf).trust == .certificate)
    }

    @Test func `a certificate that an authority signed with SHA-1 leads to no anchor`() async throws {
        let (key, name) = (try _RSA.Signing.PrivateKey(keySize: .bits2048), try DistinguishedName { CommonName("Old") })
        func issue(
            _ leaf: TestLeaf, for publicKey: Certificate.PublicKey, _ algorithm: Certificate.SignatureAlgorithm
        ) throws -> Certificate {
            try Certificate(
                version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: publicKey,
                notValidBefore: WebAuthnVerifier.date - 100, notValidAfter: WebAuthnVerifier.date + 100, issuer: name,
                subject: leaf.subject, signatureAlgorithm: algorithm,
                extensions: try Certificate.Extensions(leaf.extensions), issuerPrivateKey: Certificate.PrivateKey(key))
        }
        // How the anchor signed itself does not matter: the site has it from elsewhere.
        var authority = try TestLeaf()
        authority.subject = name
        authority.extensions = [try TestLeaf.constraints(.isCertificateAuthority(maxPathLength: nil))]
        let root = try issue(authority, for: Certificate.PublicKey(key.publicKey), .sha1WithRSAEncryption)
        let verifier = try WebAuthnVerifier.trusting(root, .packed, .anchored)
        let signer = try TestKey(.es256)
        for algorithm in [Certificate.SignatureAlgorithm.sha256WithRSAEncryption, .sha1WithRSAEncryption] {
            let leaf = try issue(TestLeaf(), for: signer.certificateKey, algorithm)
            func registered() async throws -> AttestationTrust {
                try await Self.register(verifier, signer: signer) { $0["x5c"] = try [leaf].chain }.trust
            }
            if algorithm == .sha1WithRSAEncryption {
                await #expect(throws: refused(.untrusted)) { try await registered() }
            } else {
                #expect(try await registered() == .anchored)
            }
            for allowsSHA1 in [true, false] {
                let leads = await CertificateChain(leaf, others: []).isAnchored(
                    in: [root], at: WebAuthnVerifier.date, checkedExtensions: [], allowsSHA1: allowsSHA1)
                #expect(leads == (allowsSHA1 || algorithm != .sha1WithRSAEncryption))
            }
        }
    }

    @Test func `an anchor that is no certificate is refused by its place`() throws {
        let good = Data(try TestAuthority().certificate.der)
        #expect(throws: AttestationError.certificateUnreadable(1)) {
            try AttestationPolicy(.any, anchors: [.packed: [good, Data([1])]])
        }
    }
}
