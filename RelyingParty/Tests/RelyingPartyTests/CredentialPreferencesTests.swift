import Foundation
import RelyingPartySQLite
import Testing

@testable import RelyingParty

/// What a relying party may ask of a new credential and of a sign-in, and what comes back.
@Suite(.timeLimit(.minutes(10))) struct CredentialPreferencesTests {
    private static let user = WebAuthnUser(handle: Data("account".utf8), name: "ann")

    private let store: SQLiteStore
    private let server: WebAuthnServer

    init() throws {
        store = try SQLiteStore(inMemoryWithMaximumChallengeCount: 1000)
        server = WebAuthnServer(
            verifier: .example, name: "Example", challenges: store, credentials: store, clock: { WebAuthnVerifier.date }
        )
    }

    private static func object(_ value: some Encodable) throws -> [String: Any] {
        try #require(JSONSerialization.jsonObject(with: JSONEncoder().encode(value)) as? [String: Any])
    }

    private static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    // MARK: options

    @Test func `wishes are in the options`() async throws {
        var extensions = RegistrationExtensions()
        extensions.prf = PRFRequest(.init(first: Data([1]), second: Data([2])))
        extensions.largeBlob = .required
        extensions.protection = .verificationRequired
        extensions.enforcesProtection = true
        extensions.asksForMinimumPINLength = true
        let options = try await server.beginRegistration(
            of: Self.user,
            preferences: CredentialPreferences(
                residentKey: .required, attachment: .crossPlatform, hints: [.securityKey, .hybrid],
                attestation: .enterprise, attestationFormats: [.packed, .fidoU2F], extensions: extensions))
        let object = try Self.object(options)
        let selection = try #require(object["authenticatorSelection"] as? [String: Any])
        #expect(selection["residentKey"] as? String == "required" && selection["requireResidentKey"] as? Bool == true)
        #expect(selection["authenticatorAttachment"] as? String == "cross-platform")
        #expect(object["hints"] as? [String] == ["security-key", "hybrid"])
        #expect(object["attestation"] as? String == "enterprise")
        #expect(object["attestationFormats"] as? [String] == ["packed", "fido-u2f"])
        #expect(
            try Self.json(extensions) == """
                {"credProps":true,"credentialProtectionPolicy":"userVerificationRequired",\
                "enforceCredentialProtectionPolicy":true,"largeBlob":{"support":"required"},"minPinLength":true,\
                "prf":{"eval":{"first":"AQ","second":"Ag"}}}
                """)
    }

    @Test func `nothing that was not asked for is in the options`() async throws {
        var preferences = CredentialPreferences(residentKey: .discouraged)
        preferences.extensions.asksForProperties = false
        let object = try Self.object(try await server.beginRegistration(of: Self.user, preferences: preferences))
        for name in ["hints", "attestationFormats", "extensions"] { #expect(object[name] == nil) }
        let selection = try #require(object["authenticatorSelection"] as? [String: Any])
        #expect(Set(selection.keys) == ["residentKey", "userVerification"])
        #expect(selection["residentKey"] as? String == "discouraged")
        let request = try Self.object(try await server.beginAssertion())
        #expect(Set(request.keys) == ["allowCredentials", "challenge", "rpId", "timeout", "userVerification"])
    }

    @Test func `extensions of a sign-in are in the options`() async throws {
        let prf = PRFRequest(byCredential: [Data([7]): .init(first: Data([1]))])
        let read = try await server.beginAssertion(
            hints: [.clientDevice], extensions: AssertionExtensions(prf: prf, largeBlob: .read))
        #expect(try Self.object(read)["hints"] as? [String] == ["client-device"])
        #expect(
            try Self.json(read.extensions)
                == #"{"largeBlob":{"read":true},"prf":{"evalByCredential":{"Bw":{"first":"AQ"}}}}"#)
        #expect(
            try Self.json(AssertionExtensions(largeBlob: .write(Data([9])))) == #"{"largeBlob":{"write":"CQ"}}"#)
    }

    // MARK: what clients say

    private static func registration(_ results: String, attachment: String = #""platform""#) throws
        -> RegistrationResponse
    {
        try RegistrationResponse(
            json: Data(
                """
                {"rawId":"AQ","type":"public-key","authenticatorAttachment":\(attachment),
                "clientExtensionResults":\(results),"response":{"clientDataJSON":"Ag","attestationObject":"Aw"}}
                """.utf8))
    }

    @Test func `results of extensions are read, but no value of a page's key`() throws {
        let response = try Self.registration(
            #"{"credProps":{"rk":true},"prf":{"enabled":true,"results":{"first":"AQ"}},"largeBlob":{"supported":false}}"#
        )
        var expected = ClientExtensionResults()
        (expected.isDiscoverable, expected.isPRFEnabled, expected.supportsLargeBlob) = (true, true, false)
        #expect(response.extensionResults == expected && response.attachment == .platform)
        let assertion = try AssertionResponse(
            json: Data(
                #"""
                {"rawId":"AQ","type":"public-key","authenticatorAttachment":"cross-platform","clientExtensionResults":
                {"largeBlob":{"blob":"AQI","written":true},"prf":{"results":{"first":"AQ"}}},
                "response":{"clientDataJSON":"Ag","authenticatorData":"Aw","signature":"BA"}}
                """#.utf8))
        #expect(assertion.extensionResults.largeBlob == Data([1, 2]) && assertion.attachment == .crossPlatform)
        #expect(assertion.extensionResults.isLargeBlobWritten == true && assertion.extensionResults.isPRFEnabled == nil)
    }

    @Test(arguments: [
        #"{"credProps":{"rk":1}}"#, #"{"credProps":true}"#, #"{"prf":{"enabled":"yes"}}"#, "[]", "1",
        #"{"largeBlob":{"blob":"A="}}"#, #"{"largeBlob":{"supported":null,"written":0}}"#,
    ])
    func `results of another type are refused`(_ results: String) {
        #expect(throws: CeremonyJSONError.malformed) { try Self.registration(results) }
    }

    @Test func `an attachment that nobody knows is none`() throws {
        #expect(try Self.registration("{}", attachment: #""implanted""#).attachment == nil)
        #expect(throws: CeremonyJSONError.malformed) { try Self.registration("{}", attachment: "1") }
    }

    // MARK: what authenticators sign

    private static func register(
        _ extensions: CBORItem?, least: CredentialProtection? = nil, format: String = "none"
    ) async throws -> Registration {
        var authenticator = try TestAuthenticator()
        authenticator.extensions = extensions
        return try await WebAuthnVerifier.example.register(
            authenticator.registration(), requirements: UserRequirements(protection: least))
    }

    private static func protection(_ value: CBORItem) -> CBORItem { .map([(.text("credProtect"), value)]) }

    @Test func `signed outputs are in the registration`() async throws {
        let registration = try await Self.register(
            .map([(.text("credProtect"), .number(2)), (.text("minPinLength"), .number(6))]))
        #expect(registration.protection == .verificationOptionalWithID && registration.minimumPINLength == 6)
        let plain = try await Self.register(nil)
        #expect(plain.protection == nil && plain.minimumPINLength == nil)
    }

    @Test func `signed outputs that the extension does not have are refused`() async throws {
        for value in [CBORItem.number(0), .number(4), .number(-1), .boolean(true), .text("3"), .null] {
            await #expect(throws: CeremonyError.extensionOutput(.credProtect)) {
                try await Self.register(Self.protection(value))
            }
        }
        for value in [CBORItem.number(-1), .number(64), .text("4")] {
            await #expect(throws: CeremonyError.extensionOutput(.minPinLength)) {
                try await Self.register(.map([(.text("minPinLength"), value)]))
            }
        }
    }

    @Test func `a protection that was asked for is required, or a stronger one`() async throws {
        for least in CredentialProtection.allCases {
            for level in CredentialProtection.allCases {
                if level >= least {
                    let item = Self.protection(.number(level.rawValue))
                    #expect(try await Self.register(item, least: least).protection == level)
                } else {
                    await #expect(throws: CeremonyError.protectionTooWeak) {
                        try await Self.register(Self.protection(.number(level.rawValue)), least: least)
                    }
                }
            }
            await #expect(throws: CeremonyError.protectionTooWeak) { try await Self.register(nil, least: least) }
        }
    }

    // MARK: whole registrations

    private func register(
        _ preferences: CredentialPreferences, _ change: (inout TestAuthenticator) -> Void
    ) async throws -> Registration {
        var authenticator = try TestAuthenticator()
        change(&authenticator)
        authenticator.clientData.challenge =
            try await server.beginRegistration(of: Self.user, preferences: preferences).challenge
        var response = try authenticator.registration()
        response.extensionResults.isDiscoverable = true
        return try await server.finishRegistration(response, account: Self.user.handle)
    }

    @Test func `the server remembers which protection it asked for`() async throws {
        var preferences = CredentialPreferences()
        preferences.extensions.protection = .verificationRequired
        #expect(try await register(preferences) { $0.credentialID = [1] }.protection == nil)
        preferences.extensions.enforcesProtection = true
        await #expect(throws: CeremonyError.protectionTooWeak) {
            try await register(preferences) { $0.credentialID = [2] }
        }
        let registration = try await register(preferences) {
            $0.credentialID = [3]
            $0.extensions = Self.protection(.number(3))
        }
        #expect(registration.protection == .verificationRequired)
        #expect(try await store.credential(Data([3]))?.isDiscoverable == true)
    }

    @Test func `only a registration that began on the side needs nobody's touch`() async throws {
        let silent = try await register(CredentialPreferences(isConditional: true)) { $0.flags = 0 }
        #expect(!silent.credential.isUserVerified)
        await #expect(throws: CeremonyError.userNotPresent) {
            try await register(CredentialPreferences()) {
                $0.flags = 0
                $0.credentialID = [1]
            }
        }
        // A sign-in always needs it.
        var authenticator = try TestAuthenticator()
        authenticator.flags = 0
        authenticator.clientData.challenge = try await server.beginAssertion().challenge
        let assertion = try authenticator.assertion()
        await #expect(throws: CeremonyError.userNotPresent) { try await server.finishAssertion(assertion) }
    }

    @Test func `somebody who is signed in adds a credential to that account only`() async throws {
        for (account, id) in [(Data("other".utf8), [1]), (Self.user.handle, [2])] as [(Data, [UInt8])] {
            var authenticator = try TestAuthenticator()
            authenticator.credentialID = id
            authenticator.clientData.challenge = try await server.beginRegistration(of: Self.user).challenge
            let response = try authenticator.registration()
            if account == Self.user.handle {
                _ = try await server.finishRegistration(response, account: account)
            } else {
                await #expect(throws: CeremonyError.userHandleMismatch) {
                    try await server.finishRegistration(response, account: account)
                }
                #expect(try await store.credential(Data(id)) == nil)
            }
        }
    }

    // MARK: the credentials of an account

    @Test func `an account lists, names and removes its credentials`() async throws {
        for id: UInt8 in [2, 1] { _ = try await register(CredentialPreferences()) { $0.credentialID = [id] } }
        let account = Self.user.handle
        #expect(try await server.credentials(of: account).map(\.id) == [Data([1]), Data([2])])
        #expect(try await server.renameCredential(Data([1]), of: account, to: "blue key"))
        #expect(try await server.credentials(of: account).first?.nickname == "blue key")
        for name in ["", String(repeating: "a", count: 257)] {
            await #expect(throws: CeremonyError.nicknameLength(name.utf8.count)) {
                try await server.renameCredential(Data([1]), of: account, to: name)
            }
        }
        #expect(try await !server.renameCredential(Data([1]), of: Data("other".utf8), to: "mine"))
        #expect(try await !server.removeCredential(Data([1]), of: Data("other".utf8)))
        #expect(try await server.removeCredential(Data([1]), of: account))
        #expect(try await !server.removeCredential(Data([1]), of: account))
        #expect(
            try Self.json(try await server.acceptedCredentials(of: account))
                == #"{"allAcceptedCredentialIds":["Ag"],"rpId":"example.org","userId":"YWNjb3VudA"}"#)
        var authenticator = try TestAuthenticator()
        authenticator.credentialID = [1]
        authenticator.clientData.challenge = try await server.beginAssertion().challenge
        let assertion = try authenticator.assertion()
        await #expect(throws: CeremonyError.credentialUnknown) { try await server.finishAssertion(assertion) }
    }

    @Test func `an account without another way in keeps its last credential`() async throws {
        for id: UInt8 in [2, 1] { _ = try await register(CredentialPreferences()) { $0.credentialID = [id] } }
        let account = Self.user.handle
        let foreign = Data("other".utf8)
        #expect(try await server.removeCredentialUnlessLast(Data([1]), of: foreign) == .unknownCredential)
        #expect(try await server.removeCredentialUnlessLast(Data([1]), of: account) == .removed)
        #expect(try await server.removeCredentialUnlessLast(Data([2]), of: account) == .isLast)
        #expect(try await server.credentials(of: account).map(\.id) == [Data([2])])
        #expect(try await server.removeCredential(Data([2]), of: account), "the caller knows another way in")
    }

    @Test func `credentials are listed in the order in which they came, those without a date first`() async throws {
        for (id, date) in [(1, 30.0), (2, nil), (3, 10)] as [(UInt8, Double?)] {
            var record = try TestAuthenticator().record
            record = CredentialRecord(
                id: Data([id]), userHandle: Self.user.handle, publicKey: record.publicKey, signatureCounter: 0,
                isUserVerified: true, isBackupEligible: false, isBackedUp: false, transports: [],
                creation: date.map { Date(timeIntervalSince1970: $0) })
            _ = try await store.add(record)
        }
        #expect(try await server.credentials(of: Self.user.handle).map(\.id) == [Data([2]), Data([3]), Data([1])])
    }

    // MARK: words

    /// A person reads them: no name of a type, no case of an enumeration, no number of an algorithm.
    @Test func `refusals have plain words for people and a name for programs`() {
        let errors: [CeremonyError] = [
            .clientData(.notUTF8), .challengeNotOpen, .sessionMismatch, .originNotAllowed, .userNotPresent,
            .userNotVerified, .backedUpWithoutEligibility, .userHandleLength(0), .algorithmNotOffered(.es256),
            .signatureInvalid, .attestation(.authenticatorStatus(.revoked)), .attestation(.untrusted),
            .attestation(.signatureInvalid), .protectionTooWeak, .credentialAlreadyRegistered, .accountHasCredentials,
            .nicknameLength(0), .credentialUnknown, .credentialNotAllowed, .userHandleMissing,
            .counterNotIncreased(stored: 9, received: 8),
        ]
        for error in errors {
            let text = error.explanation
            #expect(text.hasSuffix(".") && text.first?.isUppercase == true && !text.contains("("), "\(text)")
            let words = text.split { !$0.isLetter }
            #expect(!words.contains { $0.dropFirst().contains(where: \.isUppercase) && $0 != "PIN" }, "\(text)")
            #expect(error.code.allSatisfy { $0.isLowercase || $0 == "-" }, "\(error.code)")
        }
    }
}
