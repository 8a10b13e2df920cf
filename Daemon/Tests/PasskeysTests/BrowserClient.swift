import CanonicalCBOR
import Crypto
import Foundation
import OstiaryMessages
import SecretMemory
import Testing

@testable import BrokerTestSupport
@testable import CTAP

/// A client of CTAP at the browsers' door, with tokens of its own.
struct BrowserClient {
    static let domain = "example.org"
    private static let id = "com.example.browser"
    private static let hash = [UInt8](repeating: 7, count: 32)

    private let client: TestClient

    init(_ client: TestClient) { self.client = client }

    /// Registers the test's own program as a browser.
    static func register(
        in fixture: BrokerFixture, answering answer: ScriptedPrompter.Answer = .text(BrokerFixture.passcode)
    ) throws {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        fixture.prompter.prepare([answer])
        try fixture.client().call(
            .registerApplication(
                .with {
                    ($0.path, $0.applicationID, $0.isBrowser) = (own, id, true)
                    $0.question = TestClient.question
                }))
    }

    func answer(to command: [UInt8]) throws -> [UInt8] {
        [UInt8](try client.call(.authenticatorCommand(.init()), tail: SecretBytes(bytes: command)).tail)
    }

    func send(_ command: [UInt8]) throws -> CTAPStatus? {
        try answer(to: command).first.flatMap { CTAPStatus(rawValue: $0) }
    }

    // MARK: tokens

    /// Gets a token, for which the person is asked (CTAP 2.1, 6.5.5.7.3).
    func token(_ permissions: PINUserToken.Permissions, for domain: String? = nil) throws -> SymmetricKey {
        let own = P256.KeyAgreement.PrivateKey()
        let agreement = try map(Self.command(.clientPIN, [1: .number(2), 2: .number(2)]))
        let peer = try COSEKey.keyAgreementKey(try #require(agreement[1]?.map))
        let secret = SharedSecret(.two, agreement: try own.sharedSecretFromKeyAgreement(with: peer))
        let answer = try map(
            Self.command(
                .clientPIN,
                [
                    1: .number(2), 2: .number(6), 3: COSEKey.value(own.publicKey),
                    9: .number(Int(permissions.rawValue)), 10: domain.map { .text($0) },
                ]))
        let encrypted = [UInt8](try #require(answer[2]?.bytes))
        return SymmetricKey(data: try secret.decrypt(encrypted))
    }

    private func map(_ command: [UInt8]) throws -> CBORMap {
        let answer = try answer(to: command)
        try #require(answer.first == 0, "status \(answer)")
        return try #require(try CBORDecoder.decode(answer.dropFirst(), .canonical).map)
    }

    private static func code(_ message: [UInt8], _ token: SymmetricKey?) -> CBORValue? {
        token.map { .bytes(PINProtocol.two.authenticationCode(message, key: $0)) }
    }

    // MARK: commands

    static func creation(of account: UInt8 = 1, named name: String, under token: SymmetricKey? = nil) -> [UInt8] {
        command(
            .makeCredential,
            [
                1: .bytes(hash), 2: .map(["id": .text(domain)]),
                3: .map(["id": .bytes([account]), "name": .text(name)]),
                4: .array([.map(["alg": .number(-7), "type": .text("public-key")])]), 7: .map(["rk": .boolean(true)]),
                8: code(hash, token), 9: token.map { _ in .number(2) },
            ])
    }

    static func assertion(under token: SymmetricKey? = nil) -> [UInt8] {
        command(
            .getAssertion,
            [1: .text(domain), 2: .bytes(hash), 6: code(hash, token), 7: token.map { _ in .number(2) }])
    }

    /// How many passkeys there are.
    static func metadata(under token: SymmetricKey) -> [UInt8] {
        command(.credentialManagement, [1: .number(1), 3: .number(2), 4: code([1], token)])
    }

    private static func command(_ command: CTAPCommand, _ members: [Int: CBORValue?]) -> [UInt8] {
        [command.rawValue]
            + CBORValue.map(
                CBORMap(members.compactMap { key, value in value.map { (CBORValue.number(key), $0) } })
            ).encoded
    }
}
