import CanonicalCBOR
import Foundation
import Testing

@testable import RelyingParty

@Suite struct RegistrationTests {
    private func expectRefusal(
        _ expected: CeremonyError, requirements: UserRequirements = UserRequirements(),
        verifier: WebAuthnVerifier = .example, sourceLocation: SourceLocation = #_sourceLocation,
        _ change: (inout TestAuthenticator) throws -> Void
    ) async throws {
        var authenticator = try TestAuthenticator()
        try change(&authenticator)
        let response = try authenticator.registration()
        await #expect(throws: expected, sourceLocation: sourceLocation) {
            try await verifier.register(response, requirements: requirements)
        }
    }

    @Test(arguments: COSEAlgorithm.allCases)
    func `a registration gives the record of its credential`(_ algorithm: COSEAlgorithm) async throws {
        var authenticator = try TestAuthenticator(algorithm)
        authenticator.flags = 0x1D
        authenticator.counter = 41
        var response = try authenticator.registration()
        response.transports = ["usb"]
        let registration = try await WebAuthnVerifier.example.register(response)
        #expect(
            registration.credential
                == CredentialRecord(
                    id: Data(authenticator.credentialID), userHandle: Data("account".utf8),
                    publicKey: Data(authenticator.key.cose), signatureCounter: 41, isUserVerified: true,
                    isBackupEligible: true, isBackedUp: true, transports: ["usb"], aaguid: Data(authenticator.aaguid),
                    creation: WebAuthnVerifier.date))
        #expect(registration.format == .none && registration.trust == .none)
        #expect(registration.aaguid == Data(authenticator.aaguid))
    }

    @Test func `client data must be of this ceremony and this challenge`() async throws {
        try await expectRefusal(.ceremonyMismatch) { $0.clientData.type = "webauthn.get" }
        try await expectRefusal(.ceremonyMismatch) { $0.clientData.type = "webauthn.create " }
        try await expectRefusal(.ceremonyMismatch) { $0.clientData.type = "" }
        try await expectRefusal(.challengeMismatch) { $0.clientData.challenge[0] ^= 1 }
        try await expectRefusal(.challengeMismatch) { $0.clientData.challenge.removeLast() }
        try await expectRefusal(.challengeMismatch) { $0.clientData.challenge.append(0) }
        try await expectRefusal(.challengeMismatch) { $0.clientData.challenge = Data() }
    }

    /// The same bytes have one text.
    @Test func `a challenge in another base64 is another one`() async throws {
        let text = TestClientData.challenge.base64URLEncoded
        for other in [text + "=", TestClientData.challenge.base64EncodedString(), text + " ", " " + text] {
            try await expectRefusal(.challengeMismatch) {
                $0.clientData.whole = """
                    {"type":"webauthn.create","challenge":"\(other)","origin":"https://example.org"}
                    """
            }
        }
    }

    @Test(arguments: [
        "http://example.org", "https://example.com", "https://example.org.example.com", "https://sub.example.org",
        "https://example.org:8443", "https://example.org/", "https://EXAMPLE.org", "example.org", "", "null",
    ])
    func `another origin is refused`(_ origin: String) async throws {
        try await expectRefusal(.originNotAllowed) { $0.clientData.origin = origin }
    }

    /// Swift's `==` takes the sign of the unit kelvin for the letter K, and a letter and its accent for the accented letter.
    @Test(arguments: [
        ("https://K.example.org", "https://\u{212A}.example.org"), ("https://\u{E9}.org", "https://e\u{301}.org"),
    ])
    func `an origin must have the bytes of one in the list`(_ listed: String, _ other: String) async throws {
        #expect(listed == other)
        let verifier = WebAuthnVerifier(
            relyingPartyIdentifier: "example.org", origins: [listed], framing: .allowed(topOrigins: [listed]))
        try await expectRefusal(.originNotAllowed, verifier: verifier) { $0.clientData.origin = other }
        try await expectRefusal(.topOriginNotAllowed, verifier: verifier) {
            $0.clientData.origin = listed
            $0.clientData.rest = #","crossOrigin":true,"topOrigin":"\#(other)""#
        }
        var authenticator = try TestAuthenticator()
        authenticator.clientData.origin = listed
        authenticator.clientData.rest = #","crossOrigin":true,"topOrigin":"\#(listed)""#
        _ = try await verifier.register(authenticator.registration())
    }

    @Test func `client data that cannot be read is refused for its reason`() async throws {
        try await expectRefusal(.clientData(.notJSON(offset: 0))) { $0.clientData.whole = "" }
        try await expectRefusal(.clientData(.missing(.origin))) {
            $0.clientData.whole = #"{"type":"webauthn.create","challenge":"x"}"#
        }
        try await expectRefusal(.clientData(.repeated(.origin))) {
            $0.clientData.rest = #","origin":"https://example.org""#
        }
    }

    @Test func `frames are refused`() async throws {
        try await expectRefusal(.crossOriginNotAllowed) { $0.clientData.rest = #","crossOrigin":true"# }
        try await expectRefusal(.crossOriginNotAllowed) { $0.clientData.rest = #","topOrigin":"https://example.org""# }
    }

    @Test func `authenticator data must be of this relying party`() async throws {
        try await expectRefusal(.relyingPartyMismatch) { $0.relyingParty = "example.com" }
        try await expectRefusal(.relyingPartyMismatch) { $0.relyingParty = "EXAMPLE.org" }
    }

    @Test func `flags must say what is required`() async throws {
        try await expectRefusal(.userNotPresent) { $0.flags = 0x04 }
        try await expectRefusal(.userNotPresent) { $0.flags = 0 }
        try await expectRefusal(.userNotVerified, requirements: UserRequirements(verification: .required)) {
            $0.flags = 0x01
        }
        try await expectRefusal(.backedUpWithoutEligibility) { $0.flags = 0x15 }
        var authenticator = try TestAuthenticator()
        authenticator.flags = 0
        let unattended = UserRequirements(presence: .notRequired)
        let response = try authenticator.registration()
        #expect(try await WebAuthnVerifier.example.register(response, requirements: unattended).trust == .none)
    }

    @Test func `the client must name the credential that was made`() async throws {
        var response = try TestAuthenticator().registration()
        response.credentialID[0] ^= 1
        await #expect(throws: CeremonyError.credentialIDMismatch) {
            try await WebAuthnVerifier.example.register(response)
        }
    }

    @Test(arguments: COSEAlgorithm.allCases)
    func `an algorithm that was not offered is refused`(_ algorithm: COSEAlgorithm) async throws {
        let verifier = WebAuthnVerifier(
            relyingPartyIdentifier: "example.org", origins: ["https://example.org"],
            algorithms: COSEAlgorithm.allCases.filter { $0 != algorithm })
        let response = try TestAuthenticator(algorithm).registration()
        await #expect(throws: CeremonyError.algorithmNotOffered(algorithm)) { try await verifier.register(response) }
    }

    @Test func `a key that is none is refused`() async throws {
        try await expectRefusal(.publicKey(.notMap)) { $0.cose = [0x80] }
        try await expectRefusal(.publicKey(.missing(label: 3))) { $0.cose = [0xA0] }
    }

    // MARK: the attestation object

    private func expectRefusal(
        _ expected: CeremonyError, object: CBORItem, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        var response = try TestAuthenticator().registration()
        response.attestationObject = Data(object.encoded)
        await #expect(throws: expected, sourceLocation: sourceLocation) {
            try await WebAuthnVerifier.example.register(response)
        }
    }

    @Test func `the attestation object has three members of their types, once, in any order`() async throws {
        let authenticator = try TestAuthenticator()
        let members: [(CBORItem, CBORItem)] = [
            (.text("fmt"), .text("none")), (.text("attStmt"), .map([])),
            (.text("authData"), .bytes(authenticator.authenticatorData(registers: true))),
        ]
        for (index, member) in [AttestationObjectError.Member.format, .statement, .authenticatorData].enumerated() {
            var without = members
            without.remove(at: index)
            try await expectRefusal(.attestationObject(.missing(member)), object: .map(without))
            for other in [CBORItem.number(1), .array([]), .null] {
                var mistyped = members
                mistyped[index].1 = other
                try await expectRefusal(.attestationObject(.mistyped(member)), object: .map(mistyped))
            }
            let offset = CBORItem.map(members).encoded.count
            let error = CBORError(.duplicateKey, at: offset)
            try await expectRefusal(.attestationObject(.notCBOR(error)), object: .map(members + [members[index]]))
        }
        var response = try authenticator.registration()
        for order in [[2, 1, 0], [1, 0, 2], [0, 2, 1]] {
            response.attestationObject = Data(CBORItem.map(order.map { members[$0] }).encoded)
            _ = try await WebAuthnVerifier.example.register(response)
        }
    }

    @Test func `each truncation of the attestation object is refused`() async throws {
        var response = try TestAuthenticator().registration()
        let whole = response.attestationObject
        for count in 0..<whole.count {
            response.attestationObject = whole.prefix(count)
            let error = CeremonyError.attestationObject(.notCBOR(CBORError(.truncated, at: count)))
            await #expect(throws: error) { try await WebAuthnVerifier.example.register(response) }
        }
    }

    @Test func `an attestation object that is no map, or too long, is refused`() async throws {
        try await expectRefusal(.attestationObject(.notMap), object: .array([]))
        try await expectRefusal(
            .attestationObject(.tooLong(65537)), object: .raw([UInt8](repeating: 0, count: 65537)))
        try await expectRefusal(
            .attestationObject(.notCBOR(CBORError(.nestedTooDeeply, at: 4))),
            object: .raw([UInt8](repeating: 0x81, count: 65536)))
        try await expectRefusal(
            .attestationObject(.notCBOR(CBORError(.indefiniteLength, at: 0))), object: .raw([0xBF, 0xFF]))
    }

    @Test func `the format none has no statement`() async throws {
        let response = try TestAuthenticator().registration { _, _ in .map([(.text("sig"), .bytes([]))]) }
        await #expect(throws: CeremonyError.attestation(.unexpectedMember)) {
            try await WebAuthnVerifier.example.register(response)
        }
    }

    @Test(arguments: ["", "None", "NONE", "none ", "android-safetynet", "compound", "packed\u{0}"])
    func `unknown formats are refused`(_ format: String) async throws {
        let response = try TestAuthenticator().registration(format: format)
        await #expect(throws: CeremonyError.attestation(.unsupportedFormat)) {
            try await WebAuthnVerifier.example.register(response)
        }
    }
}
