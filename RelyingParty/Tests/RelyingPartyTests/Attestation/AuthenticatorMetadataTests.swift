import Crypto
import CryptoExtras
import Foundation
import SwiftASN1
import Testing
import X509

@testable import RelyingParty

/// Lists as the FIDO Alliance signs them, with an authority of the tests.
@Suite struct AuthenticatorMetadataTests {
    private static let signer = "mds.fidoalliance.org"
    private static let aaguid = (0..<16).map { UInt8($0) }
    private static let date = WebAuthnVerifier.date

    // MARK: a list

    /// A list and who signs it; each part may be another than it should be.
    private struct List {
        let root: TestAuthority
        var key = try? TestKey(.es256)
        var algorithm = "ES256"
        var names = [AuthenticatorMetadataTests.signer]
        var notAfter = AuthenticatorMetadataTests.date + 100
        /// The certificates of the header, the signer's first.
        var chain: [[UInt8]]?
        var number = 7
        // The day before is 2027-01-14: the tests' time is the 15th, 8 o'clock.
        var nextUpdate = "2027-01-15"
        var entries = "[]"
        var content: String?

        init() throws { root = try TestAuthority() }

        private static func encoded(_ text: String) -> String { Data(text.utf8).base64URLEncoded }

        func jwt(sign: ((Data) throws -> Data)? = nil) throws -> Data {
            let key = try #require(key)
            var leaf = try TestLeaf()
            leaf.subject = try DistinguishedName { CommonName("Signer") }
            leaf.notAfter = notAfter
            leaf.extensions.append(
                try Certificate.Extension(SubjectAlternativeNames(names.map { .dnsName($0) }), critical: false))
            let certificates = try chain ?? [root.issue(leaf, for: key.certificateKey).der]
            let list = certificates.map { "\"\(Data($0).base64EncodedString())\"" }.joined(separator: ",")
            let header = Self.encoded(#"{"alg":"\#(algorithm)","typ":"JWT","x5c":[\#(list)]}"#)
            let payload = Self.encoded(
                content
                    ?? #"{"no":\#(number),"nextUpdate":"\#(nextUpdate)","legalHeader":"terms","entries":\#(entries)}"#)
            let message = Data("\(header).\(payload)".utf8)
            let signature = try sign?(message) ?? Self.signature(key, message)
            return message + Data(".\(signature.base64URLEncoded)".utf8)
        }

        private static func signature(_ key: TestKey, _ message: Data) throws -> Data {
            guard case .p256(let key) = key else { return Data(try key.sign(Array(message))) }
            return try key.signature(for: message).rawRepresentation
        }

        func read(
            greatestNumber: Int? = nil, tolerance: TimeInterval = 0, at date: Date = AuthenticatorMetadataTests.date
        ) async throws -> AuthenticatorMetadata {
            try await AuthenticatorMetadata(
                jwt: jwt(), roots: [Data(root.certificate.der)], greatestNumber: greatestNumber, tolerance: tolerance,
                at: date)
        }
    }

    private static func entry(
        roots: [Certificate] = [], reports: String = "[]", aaguid: String = "00010203-0405-0607-0809-0a0b0c0d0e0f"
    ) throws -> String {
        let list = try roots.map { "\"\(Data(try $0.der).base64EncodedString())\"" }.joined(separator: ",")
        return """
            [{"aaguid":"\(aaguid)","metadataStatement":{"description":"Test Key","attestationRootCertificates":[\(list)]},
            "statusReports":\(reports),"timeOfLastStatusChange":"2026-01-01"}]
            """
    }

    private func expectRefusal(
        _ error: MetadataError, sourceLocation: SourceLocation = #_sourceLocation, _ change: (inout List) throws -> Void
    ) async throws {
        var list = try List()
        try change(&list)
        let changed = list
        await #expect(throws: error, sourceLocation: sourceLocation) { try await changed.read() }
    }

    // MARK: reading

    @Test func `a list that its signer signed is read`() async throws {
        var list = try List()
        list.entries = try Self.entry(
            roots: [list.root.certificate],
            reports: #"[{"status":"FIDO_CERTIFIED_L1","effectiveDate":"2026-01-01"}]"#)
        for (algorithm, key) in [("ES256", try TestKey(.es256)), ("RS256", try TestKey(.rs256))] {
            (list.algorithm, list.key) = (algorithm, key)
            let metadata = try await list.read()
            #expect(metadata.number == 7 && metadata.legalHeader == "terms")
            let model = try #require(metadata.model(Data(Self.aaguid)))
            #expect(model.name == "Test Key" && model.reports.map(\.status.rawValue) == ["FIDO_CERTIFIED_L1"])
            #expect(metadata.model(Data(count: 16)) == nil)
        }
        // A file may end with a new line.
        _ = try await AuthenticatorMetadata(
            jwt: list.jwt() + Data("\n".utf8), roots: [Data(list.root.certificate.der)], at: Self.date)
    }

    @Test func `each part of the signed list counts`() async throws {
        let list = try List()
        let jwt = try list.jwt()
        let root = Data(try list.root.certificate.der)
        var count = 0
        for index in stride(from: 0, to: jwt.count, by: 11) {
            var changed = jwt
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            guard changed != jwt else { continue }
            await #expect(throws: MetadataError.self, "\(index)") {
                try await AuthenticatorMetadata(jwt: changed, roots: [root], at: Self.date)
            }
            count += 1
        }
        #expect(count > 50)
    }

    @Test func `a list that is none is refused`() async throws {
        let root = Data(try TestAuthority().certificate.der)
        for text in ["", ".", "..", "a.b", "e30.e30.e30.e30", "e30=.e30.e30", "e30.e3+.e30", "\u{FF}"] {
            let expected: MetadataError = text == ".." ? .headerUnreadable : .notSigned
            await #expect(throws: expected, "\(text)") {
                try await AuthenticatorMetadata(jwt: Data(text.utf8), roots: [root], at: Self.date)
            }
        }
        await #expect(throws: MetadataError.headerUnreadable) {
            try await AuthenticatorMetadata(jwt: Data("e30.e30.e30".utf8), roots: [root], at: Self.date)
        }
        let long = Limits.metadataByteCount + 1
        await #expect(throws: MetadataError.tooLong(long)) {
            try await AuthenticatorMetadata(jwt: Data(count: long), roots: [root], at: Self.date)
        }
    }

    // MARK: the signer

    @Test func `the signature is the certificate's, of a known algorithm`() async throws {
        for algorithm in ["none", "HS256", "ES384", "PS256", "es256", ""] {
            try await expectRefusal(.algorithm(algorithm)) { $0.algorithm = algorithm }
        }
        // The key is of another kind than the algorithm.
        try await expectRefusal(.algorithm("RS256")) { $0.algorithm = "RS256" }
        try await expectRefusal(.algorithm("ES256")) { $0.key = try TestKey(.rs256) }
        let list = try List()
        let root = Data(try list.root.certificate.der)
        let other = P256.Signing.PrivateKey()
        for signature in [Data(), Data(count: 64), try other.signature(for: Data([1])).rawRepresentation] {
            let jwt = try list.jwt { _ in signature }
            await #expect(throws: MetadataError.signatureInvalid) {
                try await AuthenticatorMetadata(jwt: jwt, roots: [root], at: Self.date)
            }
        }
        let forged = try list.jwt { try other.signature(for: $0).rawRepresentation }
        await #expect(throws: MetadataError.signatureInvalid) {
            try await AuthenticatorMetadata(jwt: forged, roots: [root], at: Self.date)
        }
    }

    /// The root signs certificates for many sites; each of them could sign a list.
    @Test func `the certificate is for the signer's name`() async throws {
        for names in [[], ["fidoalliance.org"], ["mds.fidoalliance.org.example.org"], ["*.fidoalliance.org"]] {
            try await expectRefusal(.signerMismatch) { $0.names = names }
        }
        var list = try List()
        list.names = ["example.org", "MDS.fidoalliance.org"]
        _ = try await list.read()
    }

    @Test func `the certificate leads to a root, and is valid`() async throws {
        let list = try List()
        let stranger = Data(try TestAuthority().certificate.der)
        await #expect(throws: MetadataError.untrusted) {
            try await AuthenticatorMetadata(jwt: list.jwt(), roots: [stranger], at: Self.date)
        }
        await #expect(throws: MetadataError.untrusted) {
            try await AuthenticatorMetadata(jwt: list.jwt(), roots: [], at: Self.date)
        }
        await #expect(throws: MetadataError.rootUnreadable(1)) {
            try await AuthenticatorMetadata(jwt: list.jwt(), roots: [stranger, Data([1])], at: Self.date)
        }
        try await expectRefusal(.untrusted) { $0.notAfter = Self.date - 1 }
        try await expectRefusal(.certificateCount(0)) { $0.chain = [] }
        try await expectRefusal(.certificateCount(9)) { $0.chain = [[UInt8]](repeating: [1], count: 9) }
        try await expectRefusal(.certificateUnreadable(0)) { $0.chain = [[1]] }
    }

    // MARK: the content

    @Test func `content that cannot be read is refused`() async throws {
        for content in [
            "", "[]", "{}", #"{"no":"1","nextUpdate":"2027-01-15","entries":[]}"#,
            #"{"no":1,"nextUpdate":"2027-01-15"}"#, #"{"no":1,"nextUpdate":"2027-01-15","entries":[{"aaguid":"00"}]}"#,
        ] {
            try await expectRefusal(.contentUnreadable) { $0.content = content }
        }
        for day in ["", "tomorrow", "2027-1-15", "2027-02-30", "2027-01-15T00:00:00Z", "-027-01-15"] {
            try await expectRefusal(.contentUnreadable) { $0.nextUpdate = day }
        }
        for aaguid in ["", "00", "0001020304050607-0809-0a0b0c0d0e0g", "000102030405060708090a0b0c0d0e0f00"] {
            try await expectRefusal(.contentUnreadable) { $0.entries = try Self.entry(aaguid: aaguid) }
        }
    }

    @Test func `a list is outdated after its day, and an older one does not come back`() async throws {
        var list = try List()
        list.nextUpdate = "2027-01-14"
        let due = Date(timeIntervalSince1970: 1_799_971_200)
        let overdue = list
        await #expect(throws: MetadataError.outdated(due)) { try await overdue.read() }
        #expect(try await overdue.read(tolerance: 86400).dueDate == due)
        list.nextUpdate = "2027-01-15"
        let current = list
        #expect(try await current.read(greatestNumber: 7).number == 7)
        await #expect(throws: MetadataError.older(7)) { try await current.read(greatestNumber: 8) }
    }

    // MARK: the policy

    private static func register(
        _ metadata: AuthenticatorMetadata, _ authority: TestAuthority, aaguid: [UInt8] = aaguid,
        requirement: AttestationPolicy.Requirement = .any, refused: Set<AuthenticatorStatus> = .compromised,
        signer: TestKey? = nil, certificate: Certificate? = nil
    ) async throws -> Registration {
        var authenticator = try TestAuthenticator()
        authenticator.aaguid = aaguid
        let signer = try signer ?? TestKey(.es256)
        let certificate = try certificate ?? authority.issue(TestLeaf(), for: signer.certificateKey)
        let response = try authenticator.registration(format: "packed") { data, hash in
            TestStatement(members: [
                ("alg", .number(-7)), ("sig", .bytes(try signer.sign(data + hash))), ("x5c", try [certificate].chain),
            ]).item
        }
        let verifier = WebAuthnVerifier(
            relyingPartyIdentifier: "example.org", origins: ["https://example.org"],
            attestation: try AttestationPolicy(requirement, metadata: metadata, refusedStatuses: refused))
        return try await verifier.register(response)
    }

    @Test func `a model's attestation leads to that model's roots, and to no other's`() async throws {
        let maker = try TestAuthority("Maker")
        var list = try List()
        list.entries = try Self.entry(roots: [maker.certificate])
        let metadata = try await list.read()
        let registration = try await Self.register(metadata, maker, requirement: .anchored)
        #expect(registration.trust == .anchored && registration.model?.name == "Test Key")
        let other = [UInt8](repeating: 9, count: 16)
        #expect(try await Self.register(metadata, maker, aaguid: other).trust == .certificate)
        #expect(try await Self.register(metadata, maker, aaguid: other).model == nil)
        await #expect(throws: CeremonyError.attestation(.untrusted)) {
            try await Self.register(metadata, maker, aaguid: other, requirement: .anchored)
        }
        await #expect(throws: CeremonyError.attestation(.untrusted)) {
            try await Self.register(metadata, TestAuthority("Maker"), requirement: .anchored)
        }
    }

    @Test(arguments: [
        "REVOKED", "USER_VERIFICATION_BYPASS", "ATTESTATION_KEY_COMPROMISE", "USER_KEY_REMOTE_COMPROMISE",
        "USER_KEY_PHYSICAL_COMPROMISE",
    ])
    func `a model that was broken is refused, also when anything else is taken`(_ status: String) async throws {
        let maker = try TestAuthority("Maker")
        var list = try List()
        // Later reports of another kind do not mend it.
        list.entries = try Self.entry(
            roots: [maker.certificate],
            reports: #"[{"status":"\#(status)"},{"status":"UPDATE_AVAILABLE"},{"status":"FIDO_CERTIFIED"}]"#)
        let metadata = try await list.read()
        let expected = CeremonyError.attestation(.authenticatorStatus(AuthenticatorStatus(rawValue: status)))
        await #expect(throws: expected) { try await Self.register(metadata, maker) }
        #expect(try await Self.register(metadata, maker, refused: []).trust == .anchored)
        // One that says so itself, without a certificate.
        var authenticator = try TestAuthenticator()
        authenticator.aaguid = Self.aaguid
        let verifier = WebAuthnVerifier(
            relyingPartyIdentifier: "example.org", origins: ["https://example.org"],
            attestation: try AttestationPolicy(.any, metadata: metadata))
        let plain = try authenticator.registration()
        await #expect(throws: expected) { try await verifier.register(plain) }
    }

    /// The bytes of a model are the authenticator's own words, and a browser may replace them with zeros.
    @Test func `only who requires anchors refuses a broken model that hides`() async throws {
        let maker = try TestAuthority("Maker")
        var list = try List()
        list.entries = try Self.entry(roots: [maker.certificate], reports: #"[{"status":"REVOKED"}]"#)
        let metadata = try await list.read()
        for bytes in [[UInt8](repeating: 0, count: 16), [UInt8](repeating: 9, count: 16)] {
            var authenticator = try TestAuthenticator()
            authenticator.aaguid = bytes
            let response = try authenticator.registration()
            for requirement in [AttestationPolicy.Requirement.any, .anchored] {
                let verifier = WebAuthnVerifier(
                    relyingPartyIdentifier: "example.org", origins: ["https://example.org"],
                    attestation: try AttestationPolicy(requirement, metadata: metadata))
                if requirement == .any {
                    let registration = try await verifier.register(response)
                    #expect(registration.trust == .none && registration.model == nil)
                } else {
                    await #expect(throws: CeremonyError.attestation(.untrusted)) {
                        try await verifier.register(response)
                    }
                }
            }
            // With its own certificate it still leads to its own model's roots only.
            #expect(try await Self.register(metadata, maker, aaguid: bytes).trust == .certificate)
            await #expect(throws: CeremonyError.attestation(.untrusted)) {
                try await Self.register(metadata, maker, aaguid: bytes, requirement: .anchored)
            }
        }
    }

    @Test func `a report on one certificate is about that one`() async throws {
        let (maker, signer) = (try TestAuthority("Maker"), try TestKey(.es256))
        let certificate = try maker.issue(TestLeaf(), for: signer.certificateKey)
        // The second certificate is another one, and the third cannot be read.
        let cases = [(try certificate.der, true), (try maker.certificate.der, false), ([1], true)]
        for (reported, isRefused) in cases {
            var list = try List()
            let text = Data(reported).base64EncodedString()
            list.entries = try Self.entry(
                roots: [maker.certificate],
                reports: #"[{"status":"ATTESTATION_KEY_COMPROMISE","certificate":"\#(text)"}]"#)
            let metadata = try await list.read()
            if isRefused {
                await #expect(throws: CeremonyError.attestation(.authenticatorStatus(.attestationKeyCompromise))) {
                    try await Self.register(metadata, maker, signer: signer, certificate: certificate)
                }
            } else {
                let registration = try await Self.register(metadata, maker, signer: signer, certificate: certificate)
                #expect(registration.trust == .anchored)
            }
        }
    }

    @Test func `keys of U2F are found by their certificate`() async throws {
        let (maker, attested, signer) = (try TestAuthority("Maker"), try TestKey(.es256), try TestKey(.es256))
        let certificate = try maker.issue(TestLeaf(), for: signer.certificateKey)
        let identifier = Insecure.SHA1.hash(data: certificate.publicKey.subjectPublicKeyInfoBytes)
            .map { String(format: "%02x", $0) }.joined()
        let root = Data(try maker.certificate.der).base64EncodedString()
        var list = try List()
        list.entries = """
            [{"attestationCertificateKeyIdentifiers":["\(identifier)"],"statusReports":[],"metadataStatement":
            {"description":"U2F Key","attestationRootCertificates":["\(root)"]}}]
            """
        let metadata = try await list.read()
        var authenticator = try TestAuthenticator()
        authenticator.key = attested
        let response = try authenticator.registration(format: "fido-u2f") { data, hash in
            guard case .p256(let key) = attested else { return .null }
            let message =
                [0] + Array(data.prefix(32)) + hash + authenticator.credentialID + key.publicKey.x963Representation
            return .map([(.text("sig"), .bytes(try signer.sign(message))), (.text("x5c"), try [certificate].chain)])
        }
        let verifier = WebAuthnVerifier(
            relyingPartyIdentifier: "example.org", origins: ["https://example.org"],
            attestation: try AttestationPolicy(.anchored, metadata: metadata))
        let registration = try await verifier.register(response)
        #expect(registration.trust == .anchored && registration.model?.name == "U2F Key")
    }
}
