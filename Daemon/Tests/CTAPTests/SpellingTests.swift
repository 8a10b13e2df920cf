import AuthenticatorRequests
import Cancellations
import CanonicalCBOR
import Crypto
import ExactNames
import Testing

@testable import CTAP

/// Two relying parties whose names people cannot tell apart. Their bytes differ, so a credential, a token and a list of one are
/// not the other's.
@Suite struct SpellingTests {
    private static let one = "caf\u{E9}.example"
    private static let other = "cafe\u{301}.example"
    private static let hash = CBORValue.bytes([UInt8](repeating: 5, count: 32)[...])

    private static func request(_ command: UInt8, _ members: [(Int, CBORValue)]) -> [UInt8] {
        [command] + CBORValue.map(CBORMap(members.map { (.number($0), $1) })).encoded
    }

    private static func creation(_ domain: String) -> [UInt8] {
        request(
            1,
            [
                (1, hash), (2, .map(["id": .text(domain)])), (3, .map(["id": .bytes([1]), "name": .text("ada")])),
                (4, .array([.map(["alg": .number(-7), "type": .text("public-key")])])),
                (7, .map(["rk": .boolean(true), "uv": .boolean(true)])),
            ])
    }

    private static func assertion(_ domain: String, allowed: [UInt8]? = nil) -> [UInt8] {
        let list = allowed.map { CBORValue.array([.map(["id": .bytes($0[...]), "type": .text("public-key")])]) }
        return request(
            2, [(1, .text(domain)), (2, hash)] + (list.map { [(3, $0)] } ?? []) + [(5, .map(["uv": .boolean(true)]))])
    }

    @Test func `a credential signs for its own spelling alone`() throws {
        #expect(Self.one == Self.other, "Swift's own comparison of text")
        let storage = CountingStorage()
        var authenticator = CTAPAuthenticator.forTests(storage)
        #expect(authenticator.status(Self.creation(Self.one)) == .success)
        let identifier = try #require(storage.credentials().first).identifier
        let signed = storage.signatureCount
        #expect(authenticator.status(Self.assertion(Self.other)) == .noCredentials)
        #expect(authenticator.status(Self.assertion(Self.other, allowed: identifier)) == .noCredentials)
        #expect(storage.signatureCount == signed)
        #expect(authenticator.status(Self.assertion(Self.one)) == .success)
    }

    @Test func `a credential of another spelling is neither replaced nor in the way`() {
        let storage = CountingStorage()
        var authenticator = CTAPAuthenticator.forTests(storage)
        for domain in [Self.one, Self.other, Self.one] {
            #expect(authenticator.status(Self.creation(domain)) == .success)
        }
        #expect(storage.replaced.count == 1)
    }

    @Test(arguments: [
        one, other, "Example.com", "com", "localhost", "192.0.2.1", "https://example.com", "example.com.",
        " example.com", "ssh", "ssh:caf\u{E9}", "ssh:two words", "SSH:", "ssh://example.com/\u{7F}",
    ])
    func `an authenticator for domains alone takes nothing else`(_ domain: String) {
        let storage = CountingStorage()
        var authenticator = CTAPAuthenticator.forTests(storage, takesDomainsOnly: true)
        let questions = storage.questionCount
        #expect(authenticator.status(Self.creation(domain)) == .invalidParameter)
        #expect(authenticator.status(Self.assertion(domain)) == .invalidParameter)
        #expect(storage.signatureCount == 0 && storage.questionCount == questions)
        for taken in ["example.com", "ssh:", "ssh:work"] {
            #expect(authenticator.status(Self.creation(taken)) == .success)
            #expect(authenticator.status(Self.assertion(taken)) == .success)
        }
        // A key that people carry takes any text, as before.
        var key = CTAPAuthenticator.forTests(CountingStorage())
        #expect(key.status(Self.creation(domain)) == .success)
    }

    // MARK: tokens

    private struct Client {
        var authenticator: CTAPAuthenticator
        var token = SymmetricKey(size: .bits256)

        /// Gets a token by verification, bound to a relying party.
        mutating func getToken(for domain: String) throws {
            let own = P256.KeyAgreement.PrivateKey()
            let agreed = authenticator.respond(
                to: SpellingTests.request(6, [(1, .number(2)), (2, .number(2))]), until: Cancellation())
            let key = try #require(try CBORDecoder.decode(agreed.dropFirst(), .canonical).map?[1]?.map)
            let point = try [[4], [UInt8](#require(key[-2]?.bytes)), [UInt8](#require(key[-3]?.bytes))].joined()
            let secret = SharedSecret(
                .two,
                agreement: try own.sharedSecretFromKeyAgreement(with: .init(x963Representation: Array(point))))
            let raw = [UInt8](own.publicKey.rawRepresentation)
            let ownKey = CBORValue.map([
                1: .number(2), 3: .number(-25), -1: .number(1), -2: .bytes(raw[..<32]), -3: .bytes(raw[32...]),
            ])
            let given = authenticator.respond(
                to: SpellingTests.request(
                    6, [(1, .number(2)), (2, .number(6)), (3, ownKey), (9, .number(3)), (10, .text(domain))]),
                until: Cancellation())
            try #require(given.first == CTAPStatus.success.rawValue)
            let encrypted = try #require(try CBORDecoder.decode(given.dropFirst(), .canonical).map?[2]?.bytes)
            token = SymmetricKey(data: try secret.decrypt([UInt8](encrypted)))
        }

        mutating func assert(_ domain: String) -> CTAPStatus? {
            let code = HMAC<SHA256>.authenticationCode(for: [UInt8](repeating: 5, count: 32), using: token)
            return authenticator.status(
                SpellingTests.request(
                    2,
                    [(1, .text(domain)), (2, SpellingTests.hash), (6, .bytes([UInt8](code)[...])), (7, .number(2))]))
        }
    }

    @Test func `a token for one spelling authorizes nothing for the other`() throws {
        let storage = CountingStorage()
        var client = Client(authenticator: .forTests(storage))
        for domain in [Self.one, Self.other] {
            #expect(client.authenticator.status(Self.creation(domain)) == .success)
        }
        let signed = storage.signatureCount
        try client.getToken(for: Self.one)
        #expect(client.assert(Self.other) == .pinAuthInvalid)
        #expect(storage.signatureCount == signed)
        #expect(client.assert(Self.one) == .success)
    }
}
