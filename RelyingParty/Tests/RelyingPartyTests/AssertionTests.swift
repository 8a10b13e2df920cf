import Foundation
import Testing

@testable import RelyingParty

@Suite struct AssertionTests {
    private func expectRefusal(
        _ expected: CeremonyError, requirements: UserRequirements = UserRequirements(),
        sourceLocation: SourceLocation = #_sourceLocation, _ change: (inout TestAuthenticator) throws -> Void
    ) throws {
        let registered = try TestAuthenticator()
        var authenticator = registered
        try change(&authenticator)
        let response = try authenticator.assertion()
        #expect(throws: expected, sourceLocation: sourceLocation) {
            try WebAuthnVerifier.example.assert(response, registered.record, requirements: requirements)
        }
    }

    @Test(arguments: COSEAlgorithm.allCases)
    func `an assertion gives the use of its credential`(_ algorithm: COSEAlgorithm) throws {
        var authenticator = try TestAuthenticator(algorithm)
        authenticator.flags = 0x0D
        let record = authenticator.record
        authenticator.flags = 0x1D
        authenticator.counter = 5
        let assertion = try WebAuthnVerifier.example.assert(try authenticator.assertion(), record)
        #expect(assertion.use == CredentialUse(credentialID: record.id, signatureCounter: 5, isBackedUp: true))
        #expect(assertion.isUserVerified)
    }

    @Test func `the ceremony, challenge, origin and relying party must be these`() throws {
        try expectRefusal(.ceremonyMismatch) { $0.clientData.type = "webauthn.create" }
        try expectRefusal(.ceremonyMismatch) { $0.clientData.type = "payment.get" }
        try expectRefusal(.challengeMismatch) { $0.clientData.challenge[31] ^= 0x80 }
        try expectRefusal(.originNotAllowed) { $0.clientData.origin = "https://example.org.evil.example" }
        try expectRefusal(.crossOriginNotAllowed) { $0.clientData.rest = #","crossOrigin":true"# }
        try expectRefusal(.relyingPartyMismatch) { $0.relyingParty = "www.example.org" }
    }

    @Test func `flags must say what is required`() throws {
        try expectRefusal(.userNotPresent) { $0.flags = 0x04 }
        try expectRefusal(.userNotVerified, requirements: UserRequirements(verification: .required)) { $0.flags = 0x01 }
        try expectRefusal(.backedUpWithoutEligibility) { $0.flags = 0x15 }
        try expectRefusal(.backupEligibilityChanged) { $0.flags = 0x0D }
        for verification in [UserRequirements.Verification.preferred, .discouraged] {
            var authenticator = try TestAuthenticator()
            authenticator.flags = 0x01
            let requirements = UserRequirements(verification: verification)
            let assertion = try WebAuthnVerifier.example.assert(
                try authenticator.assertion(), authenticator.record, requirements: requirements)
            #expect(!assertion.isUserVerified)
        }
    }

    @Test func `authenticator data must be one of an assertion`() throws {
        let authenticator = try TestAuthenticator()
        func expect(_ data: [UInt8], _ expected: AuthenticatorDataError) throws {
            let response = try authenticator.assertion(authenticatorData: data)
            #expect(throws: CeremonyError.authenticatorData(expected)) {
                try WebAuthnVerifier.example.assert(response, authenticator.record)
            }
        }
        let data = authenticator.authenticatorData(registers: false)
        for count in 0..<data.count { try expect(Array(data.prefix(count)), .truncated) }
        try expect(data + [0], .trailingBytes(1))
        try expect(authenticator.authenticatorData(registers: true), .credentialNotExpected)
        try expect(data + [UInt8](repeating: 0, count: 4060), .tooLong(4097))
        try expect(data + [UInt8](repeating: 0, count: 4059), .trailingBytes(4059))
    }

    @Test func `extensions that nobody asked for are taken`() throws {
        var authenticator = try TestAuthenticator()
        authenticator.extensions = .map([(.text("x"), .map([(.text("y"), .array([.bytes([1])]))]))])
        _ = try WebAuthnVerifier.example.assert(try authenticator.assertion(), authenticator.record)
    }

    @Test func `the signature must be the credential's over this data`() throws {
        let authenticator = try TestAuthenticator()
        let signed = try authenticator.assertion()
        func expectRefusal(_ change: (inout AssertionResponse) throws -> Void) rethrows {
            var response = signed
            try change(&response)
            #expect(throws: CeremonyError.signatureInvalid) {
                try WebAuthnVerifier.example.assert(response, authenticator.record)
            }
        }
        for count in 0..<signed.signature.count { expectRefusal { $0.signature = signed.signature.prefix(count) } }
        for index in signed.signature.indices { expectRefusal { $0.signature[index] ^= 1 } }
        expectRefusal { $0.signature.append(0) }
        expectRefusal { $0.signature = Data(count: 1_000_000) }
        // What was signed is another flag, another counter, or client data with a space more.
        expectRefusal { $0.authenticatorData[32] ^= 0x02 }
        expectRefusal { $0.authenticatorData[36] = 1 }
        expectRefusal { $0.clientDataJSON.append(0x20) }
        try expectRefusal { $0.signature = Data(try TestKey(.es256).sign([1])) }
        let other = try TestAuthenticator()
        #expect(throws: CeremonyError.signatureInvalid) {
            try WebAuthnVerifier.example.assert(try other.assertion(), authenticator.record)
        }
    }

    @Test func `a stored key that cannot be read is no key`() throws {
        let authenticator = try TestAuthenticator()
        let record = CredentialRecord(
            id: authenticator.record.id, userHandle: authenticator.userHandle, publicKey: Data([0xA0]),
            signatureCounter: 0, isUserVerified: true, isBackupEligible: false, isBackedUp: false, transports: [])
        #expect(throws: CeremonyError.publicKey(.missing(label: 3))) {
            try WebAuthnVerifier.example.assert(try authenticator.assertion(), record)
        }
    }

    // MARK: the account

    @Test func `the credential must be the one of the record, and among the allowed`() throws {
        let authenticator = try TestAuthenticator()
        let response = try authenticator.assertion()
        func verify(_ response: AssertionResponse, allowed: [Data]) throws -> Assertion {
            try WebAuthnVerifier.example.verifyAssertion(
                response, challenge: TestClientData.challenge, credential: authenticator.record, allowed: allowed)
        }
        _ = try verify(response, allowed: [Data([1]), response.credentialID])
        #expect(throws: CeremonyError.credentialNotAllowed) { try verify(response, allowed: [Data([1])]) }
        var other = response
        other.credentialID[0] ^= 1
        #expect(throws: CeremonyError.credentialIDMismatch) { try verify(other, allowed: []) }
    }

    @Test func `the account must own the credential`() throws {
        let authenticator = try TestAuthenticator()
        func verify(account: String?, sent: String?) throws -> Assertion {
            var response = try authenticator.assertion()
            response.userHandle = sent.map { Data($0.utf8) }
            return try WebAuthnVerifier.example.verifyAssertion(
                response, challenge: TestClientData.challenge, credential: authenticator.record,
                account: account.map { Data($0.utf8) })
        }
        _ = try verify(account: "account", sent: nil)
        _ = try verify(account: "account", sent: "account")
        _ = try verify(account: nil, sent: "account")
        #expect(throws: CeremonyError.userHandleMissing) { try verify(account: nil, sent: nil) }
        #expect(throws: CeremonyError.userHandleMismatch) { try verify(account: nil, sent: "other") }
        #expect(throws: CeremonyError.userHandleMismatch) { try verify(account: nil, sent: "") }
        #expect(throws: CeremonyError.userHandleMismatch) { try verify(account: "other", sent: nil) }
        #expect(throws: CeremonyError.userHandleMismatch) { try verify(account: "other", sent: "account") }
        #expect(throws: CeremonyError.userHandleMismatch) { try verify(account: "account", sent: "other") }
    }

    // MARK: the counter

    @Test(
        arguments: [
            (0, 0, true), (0, 1, true), (1, 2, true), (1, .max, true), (1, 0, false), (1, 1, false), (2, 1, false),
            (.max, .max, false), (.max, 0, false), (UInt32.max - 1, .max, true),
        ] as [(UInt32, UInt32, Bool)])
    func `the counter must increase, unless there is none`(_ stored: UInt32, _ received: UInt32, _ isTaken: Bool) throws
    {
        var authenticator = try TestAuthenticator()
        authenticator.counter = stored
        let record = authenticator.record
        authenticator.counter = received
        let response = try authenticator.assertion()
        if isTaken {
            #expect(try WebAuthnVerifier.example.assert(response, record).use.signatureCounter == received)
        } else {
            #expect(throws: CeremonyError.counterNotIncreased(stored: stored, received: received)) {
                try WebAuthnVerifier.example.assert(response, record)
            }
        }
    }
}
