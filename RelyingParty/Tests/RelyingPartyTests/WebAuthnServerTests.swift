import Crypto
import Foundation
import RelyingPartySQLite
import Synchronization
import Testing

@testable import RelyingParty

@Suite(.timeLimit(.minutes(10))) struct WebAuthnServerTests {
    /// A clock that a test moves.
    private final class Clock: Sendable {
        private let date = Mutex(WebAuthnVerifier.date)
        var now: Date { date.withLock { $0 } }
        func advance(_ seconds: TimeInterval) { date.withLock { $0 += seconds } }
    }

    private static let user = WebAuthnUser(handle: Data("account".utf8), name: "ann")

    private let clock = Clock()
    private let store: SQLiteStore
    private let server: WebAuthnServer

    init() throws {
        store = try SQLiteStore(inMemoryWithMaximumChallengeCount: 1000)
        server = WebAuthnServer(
            verifier: WebAuthnVerifier(relyingPartyIdentifier: "example.org", origins: ["https://example.org"]),
            name: "Example", challenges: store, credentials: store, clock: { [clock] in clock.now })
    }

    private func registered() async throws -> TestAuthenticator {
        var authenticator = try TestAuthenticator()
        authenticator.clientData.challenge = try await server.beginRegistration(of: Self.user).challenge
        _ = try await server.finishRegistration(authenticator.registration())
        return authenticator
    }

    @Test func `an account registers and signs in`() async throws {
        var authenticator = try await registered()
        var record = authenticator.record
        record.aaguid = Data(authenticator.aaguid)
        record.creation = WebAuthnVerifier.date
        #expect(try await store.credentials(of: Self.user.handle) == [record])
        for account in [nil, Self.user.handle] {
            authenticator.counter += 1
            authenticator.clientData.challenge = try await server.beginAssertion(account: account).challenge
            let signIn = try await server.finishAssertion(authenticator.assertion())
            #expect(signIn.account == Self.user.handle && signIn.assertion.isUserVerified)
            #expect(try await store.credential(authenticator.record.id)?.lastUse == clock.now)
            #expect(try await store.credential(authenticator.record.id)?.signatureCounter == authenticator.counter)
        }
    }

    @Test func `an answer counts once`() async throws {
        var authenticator = try TestAuthenticator()
        authenticator.clientData.challenge = try await server.beginRegistration(of: Self.user).challenge
        let registration = try authenticator.registration()
        _ = try await server.finishRegistration(registration)
        await #expect(throws: CeremonyError.challengeNotOpen) { try await server.finishRegistration(registration) }
        authenticator.clientData.challenge = try await server.beginAssertion().challenge
        let assertion = try authenticator.assertion()
        _ = try await server.finishAssertion(assertion)
        await #expect(throws: CeremonyError.challengeNotOpen) { try await server.finishAssertion(assertion) }
    }

    @Test func `a refused answer uses the challenge up`() async throws {
        let authenticator = try await registered()
        var other = authenticator
        other.clientData.challenge = try await server.beginAssertion().challenge
        other.flags = 0
        let refused = try other.assertion()
        await #expect(throws: CeremonyError.userNotPresent) { try await server.finishAssertion(refused) }
        other.flags = 5
        let late = try other.assertion()
        await #expect(throws: CeremonyError.challengeNotOpen) { try await server.finishAssertion(late) }
    }

    @Test func `a challenge that nobody made, or that expired, is not open`() async throws {
        var authenticator = try await registered()
        let unknown = try authenticator.assertion()
        await #expect(throws: CeremonyError.challengeNotOpen) { try await server.finishAssertion(unknown) }
        authenticator.clientData.challenge = try await server.beginAssertion().challenge
        clock.advance(300)
        let late = try authenticator.assertion()
        await #expect(throws: CeremonyError.challengeNotOpen) { try await server.finishAssertion(late) }
        authenticator.clientData.whole = """
            {"type":"webauthn.get","challenge":"A+/=","origin":"https://example.org"}
            """
        let unreadable = try authenticator.assertion()
        await #expect(throws: CeremonyError.challengeNotOpen) { try await server.finishAssertion(unreadable) }
    }

    @Test func `a challenge is for one ceremony`() async throws {
        var authenticator = try await registered()
        authenticator.clientData.challenge = try await server.beginRegistration(of: Self.user).challenge
        let assertion = try authenticator.assertion()
        await #expect(throws: CeremonyError.ceremonyMismatch) { try await server.finishAssertion(assertion) }
        authenticator.clientData.challenge = try await server.beginAssertion().challenge
        let registration = try authenticator.registration()
        await #expect(throws: CeremonyError.ceremonyMismatch) { try await server.finishRegistration(registration) }
        authenticator.clientData.challenge = try await server.beginRightSignature(account: Self.user.handle)
        let right = try authenticator.assertion()
        await #expect(throws: CeremonyError.ceremonyMismatch) { try await server.finishAssertion(right) }
    }

    @Test func `an answer comes from the session that asked`() async throws {
        var authenticator = try await registered()
        for (asked, answered) in [(Data([1]), nil), (nil, Data([1])), (Data([1]), Data([2])), (Data(), nil)]
            as [(Data?, Data?)]
        {
            authenticator.clientData.challenge = try await server.beginAssertion(session: asked).challenge
            let assertion = try authenticator.assertion()
            await #expect(throws: CeremonyError.sessionMismatch) {
                try await server.finishAssertion(assertion, session: answered)
            }
        }
        authenticator.clientData.challenge = try await server.beginAssertion(session: Data([1])).challenge
        let assertion = try authenticator.assertion()
        #expect(try await server.finishAssertion(assertion, session: Data([1])).account == Self.user.handle)
    }

    @Test func `verification that was asked for is required`() async throws {
        var authenticator = try await registered()
        authenticator.flags = 0x01
        authenticator.clientData.challenge = try await server.beginAssertion(verification: .required).challenge
        let assertion = try authenticator.assertion()
        await #expect(throws: CeremonyError.userNotVerified) { try await server.finishAssertion(assertion) }
        authenticator.credentialID[0] ^= 1
        authenticator.clientData.challenge =
            try await server.beginRegistration(of: Self.user, verification: .required).challenge
        let registration = try authenticator.registration()
        await #expect(throws: CeremonyError.userNotVerified) { try await server.finishRegistration(registration) }
    }

    @Test func `the handle of an account has 1 to 64 bytes`() async throws {
        for count in [0, 65] {
            let user = WebAuthnUser(handle: Data(count: count), name: "ann")
            await #expect(throws: CeremonyError.userHandleLength(count)) {
                try await server.beginRegistration(of: user)
            }
        }
        let longest = WebAuthnUser(handle: Data(count: 64), name: "ann")
        #expect(try await server.beginRegistration(of: longest).user.handle.count == 64)
    }

    @Test func `a credential is registered once`() async throws {
        var authenticator = try await registered()
        let other = WebAuthnUser(handle: Data("other".utf8), name: "bob")
        authenticator.clientData.challenge = try await server.beginRegistration(of: other).challenge
        let registration = try authenticator.registration()
        await #expect(throws: CeremonyError.credentialAlreadyRegistered) {
            try await server.finishRegistration(registration)
        }
        #expect(try await store.credentials(of: other.handle).isEmpty)
    }

    /// Who knows the handle of an account must not get into it by a registration.
    @Test func `only somebody who is signed in gives an account a second credential`() async throws {
        _ = try await registered()
        var second = try TestAuthenticator()
        second.credentialID[0] ^= 1
        second.clientData.challenge = try await server.beginRegistration(of: Self.user).challenge
        let stranger = try second.registration()
        await #expect(throws: CeremonyError.accountHasCredentials) { try await server.finishRegistration(stranger) }
        #expect(try await store.credential(Data(second.credentialID)) == nil)
        second.clientData.challenge = try await server.beginRegistration(of: Self.user).challenge
        let owner = try second.registration()
        _ = try await server.finishRegistration(owner, account: Self.user.handle)
        #expect(try await store.credentials(of: Self.user.handle).count == 2)
    }

    @Test func `only known credentials of the named account sign in`() async throws {
        var authenticator = try await registered()
        authenticator.clientData.challenge = try await server.beginAssertion(account: Data("other".utf8)).challenge
        let foreign = try authenticator.assertion()
        await #expect(throws: CeremonyError.userHandleMismatch) { try await server.finishAssertion(foreign) }
        authenticator.clientData.challenge = try await server.beginAssertion().challenge
        authenticator.credentialID[0] ^= 1
        let unknown = try authenticator.assertion()
        await #expect(throws: CeremonyError.credentialUnknown) { try await server.finishAssertion(unknown) }
    }

    @Test func `a credential that was added after the question is not among the allowed`() async throws {
        _ = try await registered()
        let options = try await server.beginAssertion(account: Self.user.handle)
        var second = try TestAuthenticator()
        second.credentialID[0] ^= 1
        second.clientData.challenge = try await server.beginRegistration(of: Self.user).challenge
        _ = try await server.finishRegistration(second.registration(), account: Self.user.handle)
        second.clientData.challenge = options.challenge
        let assertion = try second.assertion()
        await #expect(throws: CeremonyError.credentialNotAllowed) { try await server.finishAssertion(assertion) }
    }

    /// Both answers have a challenge of their own and the same counter, as a copied authenticator's have.
    @Test func `of two answers with one counter, one signs in`() async throws {
        var authenticator = try await registered()
        for counter: UInt32 in 1...20 {
            authenticator.counter = counter
            var answers: [AssertionResponse] = []
            for _ in 0..<4 {
                authenticator.clientData.challenge = try await server.beginAssertion().challenge
                answers.append(try authenticator.assertion())
            }
            let outcomes = await withTaskGroup(of: Bool.self) { group in
                for answer in answers {
                    group.addTask {
                        do {
                            _ = try await server.finishAssertion(answer)
                            return true
                        } catch {
                            let expected = CeremonyError.counterNotIncreased(stored: counter, received: counter)
                            #expect(error as? CeremonyError == expected)
                            return false
                        }
                    }
                }
                return await group.reduce(into: [Bool]()) { $0.append($1) }
            }
            #expect(outcomes.filter { $0 }.count == 1)
        }
    }

    // MARK: rights

    @Test func `a right's signature signs in once`() async throws {
        let key = P256.Signing.PrivateKey()
        let publicKey = try RightPublicKey(x963: key.publicKey.x963Representation)
        let challenge = try await server.beginRightSignature(account: Self.user.handle)
        #expect(challenge.count == 32)
        let signature = try key.signature(for: challenge).derRepresentation
        let account = try await server.finishRightSignature(signature, challenge: challenge) { _ in publicKey }
        #expect(account == Self.user.handle)
        await #expect(throws: CeremonyError.challengeNotOpen) {
            try await server.finishRightSignature(signature, challenge: challenge) { _ in publicKey }
        }
        let next = try await server.beginRightSignature(account: Self.user.handle)
        await #expect(throws: RightSignatureError.signatureInvalid) {
            try await server.finishRightSignature(signature, challenge: next) { _ in publicKey }
        }
        let other = try await server.beginAssertion().challenge
        await #expect(throws: CeremonyError.ceremonyMismatch) {
            try await server.finishRightSignature(signature, challenge: other) { _ in publicKey }
        }
    }

    @Test func `the key of another account signs in to that account only`() async throws {
        let (ann, bob) = (Self.user.handle, Data("bob".utf8))
        let keys = [ann: P256.Signing.PrivateKey(), bob: P256.Signing.PrivateKey()]
        func finish(_ challenge: Data, signedBy signer: Data) async throws -> Data {
            let signature = try #require(keys[signer]).signature(for: challenge).derRepresentation
            return try await server.finishRightSignature(signature, challenge: challenge) { account in
                try RightPublicKey(x963: #require(keys[account]).publicKey.x963Representation)
            }
        }
        let challenge = try await server.beginRightSignature(account: ann)
        await #expect(throws: RightSignatureError.signatureInvalid) { try await finish(challenge, signedBy: bob) }
        // A refused signature uses the challenge up.
        await #expect(throws: CeremonyError.challengeNotOpen) { try await finish(challenge, signedBy: ann) }
        for account in [ann, bob] {
            let challenge = try await server.beginRightSignature(account: account)
            #expect(try await finish(challenge, signedBy: account) == account)
        }
    }

    /// The challenge that the answer names decides, so an account that has no key throws what its owner's look-up throws.
    @Test func `a right's signature of an account without a key is refused`() async throws {
        let challenge = try await server.beginRightSignature(account: Self.user.handle)
        await #expect(throws: RightSignatureError.invalidKey) {
            try await server.finishRightSignature(Data(), challenge: challenge) { _ in
                throw RightSignatureError.invalidKey
            }
        }
    }

    // MARK: JSON

    private static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    @Test func `options are the JSON that browsers read`() async throws {
        _ = try await registered()
        let creation = try await server.beginRegistration(of: Self.user, verification: .required)
        let id = Data(0..<32).base64URLEncoded
        #expect(
            try Self.json(creation) == """
                {"attestation":"none","authenticatorSelection":{"residentKey":"preferred","userVerification":"required"},\
                "challenge":"\(creation.challenge.base64URLEncoded)","excludeCredentials":[{"id":"\(id)","type":"public-key"}],\
                "extensions":{"credProps":true},\
                "pubKeyCredParams":[{"alg":-7,"type":"public-key"},{"alg":-8,"type":"public-key"},\
                {"alg":-35,"type":"public-key"},{"alg":-36,"type":"public-key"},{"alg":-257,"type":"public-key"}],\
                "rp":{"id":"example.org","name":"Example"},"timeout":300000,\
                "user":{"displayName":"ann","id":"YWNjb3VudA","name":"ann"}}
                """)
        let request = try await server.beginAssertion(account: Self.user.handle)
        #expect(
            try Self.json(request) == """
                {"allowCredentials":[{"id":"\(id)","type":"public-key"}],"challenge":"\(request.challenge.base64URLEncoded)",\
                "rpId":"example.org","timeout":300000,"userVerification":"preferred"}
                """)
    }

    @Test func `answers are read from the JSON of browsers`() throws {
        let registration = try RegistrationResponse(
            json: Data(
                #"""
                {"id":"AQ","rawId":"AQ","type":"public-key","clientExtensionResults":{},"authenticatorAttachment":"platform",
                "response":{"clientDataJSON":"Ag","attestationObject":"Aw","transports":["usb","x y","internal","usb"],"extra":1}}
                """#.utf8))
        #expect(registration.credentialID == Data([1]) && registration.clientDataJSON == Data([2]))
        #expect(registration.attestationObject == Data([3]) && registration.transports == ["internal", "usb"])
        let assertion = try AssertionResponse(
            json: Data(
                #"""
                {"id":"AQ","rawId":"AQ","type":"public-key","response":{"clientDataJSON":"Ag","authenticatorData":"Aw",
                "signature":"BA","userHandle":"BQ"}}
                """#.utf8))
        #expect(assertion.authenticatorData == Data([3]) && assertion.signature == Data([4]))
        #expect(assertion.userHandle == Data([5]))
    }

    @Test(arguments: [
        "", "{}", "[]", #"{"rawId":"AQ","type":"public-key"}"#,
        #"{"rawId":"AQ","type":"other","response":{"clientDataJSON":"Ag","attestationObject":"Aw"}}"#,
        #"{"rawId":"AQ==","type":"public-key","response":{"clientDataJSON":"Ag","attestationObject":"Aw"}}"#,
        #"{"rawId":"AR","type":"public-key","response":{"clientDataJSON":"Ag","attestationObject":"Aw"}}"#,
        #"{"rawId":"A/","type":"public-key","response":{"clientDataJSON":"Ag","attestationObject":"Aw"}}"#,
        #"{"rawId":"AQ","type":"public-key","response":{"clientDataJSON":1,"attestationObject":"Aw"}}"#,
        #"{"rawId":"AQ","type":"public-key","response":{"clientDataJSON":"Ag"}}"#,
    ])
    func `JSON that is no answer is refused`(_ json: String) {
        #expect(throws: CeremonyJSONError.malformed) { try RegistrationResponse(json: Data(json.utf8)) }
        #expect(throws: CeremonyJSONError.malformed) { try AssertionResponse(json: Data(json.utf8)) }
    }

    @Test func `more than 131,072 bytes of JSON are refused`() {
        #expect(throws: CeremonyJSONError.tooLong(131_073)) { try RegistrationResponse(json: Data(count: 131_073)) }
        #expect(throws: CeremonyJSONError.malformed) { try RegistrationResponse(json: Data(count: 131_072)) }
    }
}
