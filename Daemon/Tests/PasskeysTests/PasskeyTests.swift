import AuthenticatorRequests
import CTAP
import Cancellations
import CanonicalCBOR
import Crypto
import ExactNames
import Foundation
import IndependentTools
import OstiaryMessages
import Owners
import PromptProtocol
import SecretMemory
import StoreTestSupport
import Testing
import UnixSocket

@testable import Broker
@testable import BrokerTestSupport
@testable import Passkeys
@testable import Refusals

/// Passkeys of this machine, with a store, an enclave and questions as in the daemon. python-fido2 and py_webauthn judge
/// their answers.
@Suite("Passkeys", .timeLimit(.minutes(10)))
struct PasskeyTests {
    private static let domain = "example.org"
    private static let passcode = ScriptedPrompter.Answer.text(BrokerFixture.passcode)

    private let fixture: BrokerFixture
    private let client: TestClient
    private let connection: UnixSocket

    init() throws {
        fixture = try BrokerFixture()
        client = try fixture.client()
        connection = try UnixSocket.connect(to: fixture.socketPath)
        try fixture.setPasscode()
    }

    // MARK: one request

    private func authenticator(
        _ cancellation: RequestCancellation = RequestCancellation()
    ) throws -> PlatformAuthenticator {
        fixture.account.platformAuthenticator(try fixture.asking(on: connection, cancellation))
    }

    private struct Silent: CredentialQuestion {
        var choice = 0
        func show(_ step: CredentialStep) {}
        func pin(for device: String, triesLeft: Int?, isNew: Bool, wasWrong: Bool) throws -> SecretBytes {
            throw CredentialRefusal.cancelled
        }
        func choose(among accounts: [CredentialUser]) throws -> Int { choice }
    }

    private static func clientData(_ type: String, _ challenge: Data) -> Data {
        Data(
            """
            {"type":"\(type)","challenge":"\(challenge.base64URL)","origin":"https://\(domain)","crossOrigin":false}
            """.utf8)
    }

    private static func hash(_ data: Data) -> [UInt8] { [UInt8](SHA256.hash(data: data)) }

    private static func creation(_ name: String = "ada", handle: UInt8 = 1) -> CredentialCreation {
        var creation = CredentialCreation(
            clientDataHash: hash(clientData("webauthn.create", challenge)),
            relyingParty: RelyingPartyName(identifier: ExactName(domain), name: "Example"),
            user: CredentialUser(identifier: [handle], name: name), algorithms: [-257, -7])
        creation.attestation = .direct
        return creation
    }

    private static let challenge = Data(repeating: 9, count: 32)

    private static func assertion() -> CredentialAssertion {
        CredentialAssertion(
            clientDataHash: hash(clientData("webauthn.get", challenge)),
            relyingParty: RelyingPartyName(identifier: ExactName(domain)))
    }

    @discardableResult
    private func create(_ creation: CredentialCreation = PasskeyTests.creation()) throws -> CreatedCredential {
        fixture.prompter.prepare([Self.passcode])
        let authenticator = try authenticator()
        let created = try authenticator.create(creation, with: Silent(), until: Cancellation())
        try authenticator.finishCreation(isReleased: true)
        return created
    }

    private func assert(
        _ assertion: CredentialAssertion = PasskeyTests.assertion(), choosing choice: Int = 0
    ) throws -> AssertedCredential {
        fixture.prompter.prepare([Self.passcode])
        return try authenticator().assert(assertion, with: Silent(choice: choice), until: Cancellation())
    }

    // MARK: the good way

    private struct Answer: Encodable {
        var credentialID, clientDataJSON, challenge: String
        var attestationObject, authenticatorData, signature, userHandle, publicKey: String?
        var counter: UInt32 = 0
        var requiresVerification = true
    }

    private struct Verdict: Decodable, Equatable {
        let fido2, webauthn: String?
    }

    private static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("RelyingParty")

    private func verdicts(_ answers: [Answer]) throws -> [Verdict] {
        let python = Self.package.appendingPathComponent(".build/witnesses/bin/python3").path
        let script = Self.package.appendingPathComponent("Tests/RelyingPartyTests/Witnesses/relying_parties.py").path
        let outcome = try IndependentTool.run(python, [script], input: JSONEncoder().encode(answers))
        try #require(outcome.status == 0, "\(outcome.diagnostics)")
        return try JSONDecoder().decode([Verdict].self, from: outcome.output)
    }

    private static func publicKey(_ created: CreatedCredential) throws -> Data {
        let object = try #require(CBORDecoder.decode(created.attestationObject[...], .canonical).map)
        let data = try #require(object["authData"]?.bytes)
        return Data(data.dropFirst(37 + 18 + created.credentialIdentifier.count)).prefix(77)
    }

    @Test func `a registration and sign-ins satisfy relying parties that did not come from here`() throws {
        let created = try create()
        let registration = Answer(
            credentialID: Data(created.credentialIdentifier).base64URL,
            clientDataJSON: Self.clientData("webauthn.create", Self.challenge).base64URL,
            challenge: Self.challenge.base64URL, attestationObject: Data(created.attestationObject).base64URL)
        var answers = [registration]
        for counter: UInt32 in 1...2 {
            let asserted = try assert()
            #expect(asserted.credentialIdentifier == created.credentialIdentifier)
            #expect(asserted.userHandle == [1])
            answers.append(
                Answer(
                    credentialID: Data(asserted.credentialIdentifier).base64URL,
                    clientDataJSON: Self.clientData("webauthn.get", Self.challenge).base64URL,
                    challenge: Self.challenge.base64URL,
                    authenticatorData: Data(asserted.authenticatorData).base64URL,
                    signature: Data(asserted.signature).base64URL, userHandle: Data([1]).base64URL,
                    publicKey: try Self.publicKey(created).base64URL, counter: counter))
        }
        for verdict in try verdicts(answers) { #expect(verdict == Verdict(fido2: nil, webauthn: nil)) }
    }

    @Test func `the question shows relying party and account`() throws {
        try create()
        let question = try #require(fixture.prompter.asked.first)
        #expect(question.objects?.names.map(\.string) == [Self.domain])
        #expect(question.operation.string == "make a passkey for the account “ada”")
        _ = try assert()
        let signIn = try #require(fixture.prompter.asked.first)
        #expect(signIn.operation.string == "sign in with a passkey for the account “ada”")
    }

    @Test func `flags say that the user was verified, and that the passkey stays here`() throws {
        try create()
        let flags = try assert().authenticatorData[32]
        #expect(flags == 0x05)
    }

    @Test func `a passkey survives a restart and a new passcode, and its counter goes on`() throws {
        try create()
        #expect(try assert().authenticatorData[33..<37] == [0, 0, 0, 2])
        try fixture.changePasscode(to: "another horse 8")
        try fixture.restart()
        let connection = try UnixSocket.connect(to: fixture.socketPath)
        let asking = try fixture.asking(on: connection)
        fixture.prompter.prepare([.text("another horse 8")])
        let asserted = try fixture.account.platformAuthenticator(asking)
            .assert(Self.assertion(), with: Silent(), until: Cancellation())
        #expect(asserted.authenticatorData[33..<37] == [0, 0, 0, 3])
    }

    @Test func `the person chooses among accounts, and the same account has one passkey`() throws {
        try create(Self.creation("ada", handle: 1))
        let grace = try create(Self.creation("grace", handle: 2))
        let ada = try create(Self.creation("ada", handle: 1))
        #expect(try fixture.account.passkeys.all().count == 2)
        let chosen = try [0, 1].map { try assert(choosing: $0).credentialIdentifier }
        #expect(Set(chosen) == [ada.credentialIdentifier, grace.credentialIdentifier])
    }

    @Test func `an account keeps its passkey until the program has got the next one`() throws {
        let former = try create()
        for isReleased in [false, true] {
            fixture.prompter.prepare([Self.passcode])
            let authenticator = try authenticator()
            let next = try authenticator.create(Self.creation(), with: Silent(), until: Cancellation())
            #expect(try fixture.account.passkeys.all().count == 2)
            for _ in 1...2 { try authenticator.finishCreation(isReleased: isReleased) }
            let kept = isReleased ? next : former
            #expect(try fixture.account.passkeys.all().map(\.identifier) == [kept.credentialIdentifier])
        }
    }

    @Test func `two registrations of an account at once leave the one that was released last`() throws {
        let both = try [authenticator(), authenticator()]
        var made: [CreatedCredential] = []
        for authenticator in both {
            fixture.prompter.prepare([Self.passcode])
            made.append(try authenticator.create(Self.creation(), with: Silent(), until: Cancellation()))
        }
        try both[1].finishCreation(isReleased: true)
        try both[0].finishCreation(isReleased: false)
        #expect(try fixture.account.passkeys.all().map(\.identifier) == [made[1].credentialIdentifier])
    }

    @Test func `salts give outputs that stay, and differ between passkeys`() throws {
        var creation = Self.creation()
        let salts = PRFSalts(first: [UInt8](repeating: 1, count: 32), second: [UInt8](repeating: 2, count: 32))
        creation.extensions.salts = salts
        let created = try create(creation)
        #expect(created.supportsPRF == true)
        var assertion = Self.assertion()
        assertion.salts = salts
        let outputs = try #require(try assert(assertion).prf)
        #expect(outputs == created.prf && outputs.first != outputs.second && outputs.first.count == 32)
        creation.user.identifier = [2]
        #expect(try create(creation).prf != outputs)
    }

    @Test func `a passkey without secrets signs in without outputs`() throws {
        // Browsers make such passkeys; programs never do.
        let asking = try fixture.asking(on: connection)
        let passkeys = OwnerPasskeys(of: fixture.account, asking: asking, through: .browser)
        let making = CBORValue.map([
            1: .bytes(Self.hash(Data())), 2: .map(["id": .text(Self.domain)]), 3: .map(["id": .bytes([1])]),
            4: .array([.map(["alg": .number(-7), "type": .text("public-key")])]), 7: .map(["rk": .boolean(true)]),
        ])
        fixture.prompter.prepare([Self.passcode])
        let answer = try BrowserAuthenticator()
            .answer(
                [CTAPCommand.makeCredential.rawValue] + making.encoded, with: passkeys, endedBy: RequestCancellation())
        try #require(answer.first == CTAPStatus.success.rawValue)
        try PlatformAuthenticator(passkeys).finishCreation(isReleased: true)
        var assertion = Self.assertion()
        assertion.salts = PRFSalts(first: [UInt8](repeating: 1, count: 32))
        let asserted = try assert(assertion)
        #expect(asserted.prf == nil && asserted.authenticatorData[32] == 0x05)
        #expect(fixture.prompter.asked.count == 1)
    }

    // MARK: their owner

    private func listed() throws -> [WirePasskey] {
        guard case .passkeys(let page) = try client.call(.listPasskeys(.init())).body else { return [] }
        #expect(Int(page.total) == page.passkeys.count)
        return page.passkeys
    }

    private func remove(_ identifier: [UInt8], answering answer: ScriptedPrompter.Answer) throws {
        fixture.prompter.prepare([answer])
        try client.call(
            .removePasskey(
                .with {
                    $0.passkeyID = Data(identifier)
                    $0.question = .with { $0.reason = "test" }
                }))
    }

    @Test func `the owner sees passkeys, and removes them with the passcode alone`() throws {
        let created = try create()
        let passkey = try #require(try listed().first)
        #expect(passkey.passkeyID == Data(created.credentialIdentifier))
        #expect(passkey.relyingPartyID == Self.domain && passkey.userName == "ada" && passkey.signatureCount == 1)
        #expect(throws: Refused.self) { try remove(created.credentialIdentifier, answering: .cancel) }
        #expect(try listed().count == 1)
        try remove(created.credentialIdentifier, answering: Self.passcode)
        #expect(fixture.prompter.asked.first?.objects?.names.first?.string.contains(Self.domain) == true)
        #expect(try listed().isEmpty)
        let refused = #expect(throws: Refused.self) {
            try remove(created.credentialIdentifier, answering: Self.passcode)
        }
        #expect(refused?.cause == "passkey.not-found")
        #expect(throws: CredentialRefusal.noCredential) { _ = try assert() }
    }

    @Test func `a passkey is no key and no right`() throws {
        let created = try create()
        let id = Data(created.credentialIdentifier)
        #expect(try refusal { try client.call(.findKey(.with { $0.keyID = id })) } == .notFound)
        #expect(try refusal { try client.call(.removeKey(.with { $0.keyID = id })) } == .notFound)
        #expect(try refusal { try client.call(.removeRight(.with { $0.which = .rightID(id) })) } == .notFound)
        #expect(try client.listKeys().isEmpty)
        #expect(try listed().count == 1)
    }

    // MARK: refusals

    @Test func `without a passcode there are no passkeys, and removing it destroys them`() throws {
        try create()
        fixture.prompter.prepare([Self.passcode, .confirm])
        try client.passcode(.remove)
        guard case .confirmation(let warning)? = fixture.prompter.asked.last?.kind else {
            Issue.record("nobody was warned")
            return
        }
        #expect(warning.string.contains("1 passkey"))
        #expect(try fixture.account.passkeys.all().isEmpty)
        #expect(throws: Refusal.passcodeNotSet) { try create() }
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `a person who says no makes and signs nothing`() throws {
        fixture.prompter.prepare([.cancel])
        let refusal = #expect(throws: Refusal.self) {
            try authenticator().create(Self.creation(), with: Silent(), until: Cancellation())
        }
        #expect(refusal?.cause == "prompt.cancelled")
        #expect(try fixture.account.passkeys.all().isEmpty)
        try create()
        fixture.prompter.prepare([.cancel])
        #expect(throws: Refusal.self) {
            try authenticator().assert(Self.assertion(), with: Silent(), until: Cancellation())
        }
        #expect(try fixture.account.passkeys.all().first?.attributes.signatureCount == 1)
    }

    @Test func `an excluded passkey prevents another one of its account`() throws {
        let created = try create()
        var creation = Self.creation("grace", handle: 2)
        creation.excluded = [CredentialDescriptor(identifier: created.credentialIdentifier)]
        #expect(throws: CredentialRefusal.excluded) { try create(creation) }
        #expect(try fixture.account.passkeys.all().count == 1)
    }

    @Test func `another relying party, and another credential, find nothing and ask nobody`() throws {
        let created = try create()
        var other = Self.assertion()
        other.relyingParty.identifier = "example.com"
        #expect(throws: CredentialRefusal.noCredential) { _ = try assert(other) }
        #expect(fixture.prompter.asked.isEmpty)
        var foreign = Self.assertion()
        foreign.allowed = [CredentialDescriptor(identifier: [UInt8](repeating: 1, count: 16))]
        #expect(throws: CredentialRefusal.noCredential) { _ = try assert(foreign) }
        foreign.allowed.append(CredentialDescriptor(identifier: created.credentialIdentifier))
        #expect(try assert(foreign).credentialIdentifier == created.credentialIdentifier)
    }

    @Test func `algorithms and blobs that this machine has not are refused before anybody is asked`() throws {
        var creation = Self.creation()
        creation.algorithms = [-257, -8]
        #expect(throws: CredentialRefusal.unsupportedAlgorithm) { try create(creation) }
        #expect(fixture.prompter.asked.isEmpty)
        creation = Self.creation()
        creation.extensions.largeBlob = .required
        #expect(throws: CredentialRefusal.unsupported(what: "largeBlob")) { try create(creation) }
    }

    @Test func `a request that ended meanwhile signs nothing`() throws {
        try create()
        let cancellation = RequestCancellation()
        fixture.prompter.prepare([Self.passcode])
        fixture.prompter.duringNextQuestion { cancellation.cancel(.locked) }
        #expect(throws: (any Error).self) {
            try authenticator(cancellation).assert(Self.assertion(), with: Silent(), until: Cancellation())
        }
        #expect(try fixture.account.passkeys.all().first?.attributes.signatureCount == 1)
    }

    @Test func `attributes are read strictly`() throws {
        let attributes = PasskeyAttributes(.forTests, signatureCount: 7)
        let bytes = attributes.encoded
        // The example of Documentation/formats/passkeys.md.
        let example = "02000b6578616d706c652e6f726701000745786" + "16d706c65030102030100036164610003" + "010100000007"
        #expect(bytes.map { String(format: "%02x", $0) }.joined() == example)
        #expect(try PasskeyAttributes(encoded: bytes) == attributes)
        for count in 0..<bytes.count {
            #expect(throws: UnreadablePasskey()) { try PasskeyAttributes(encoded: bytes.prefix(count)) }
        }
        #expect(throws: UnreadablePasskey()) { try PasskeyAttributes(encoded: bytes + [0]) }
        #expect(throws: UnreadablePasskey()) { try PasskeyAttributes(encoded: Data([3]) + bytes.dropFirst()) }
        #expect(throws: UnreadablePasskey()) { try PasskeyAttributes(encoded: Data([1]) + bytes.dropFirst()) }
    }

    @Test func `attributes of version 1 are those of a discoverable passkey`() throws {
        var attributes = PasskeyAttributes(.forTests, signatureCount: 7)
        for isDiscoverable in [true, false] {
            attributes.isDiscoverable = isDiscoverable
            #expect(try PasskeyAttributes(encoded: attributes.encoded) == attributes)
        }
        attributes.isDiscoverable = true
        // Without the flag, which stands before the four bytes of the counter.
        let bytes = attributes.encoded
        let former = Data([1]) + bytes.dropFirst().dropLast(5) + bytes.suffix(4)
        #expect(try PasskeyAttributes(encoded: former) == attributes)
    }
}

extension Data {
    fileprivate var base64URL: String {
        base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}

extension NewCredential {
    fileprivate static let forTests = NewCredential(
        relyingParty: RelyingPartyName(identifier: "example.org", name: "Example"),
        user: CredentialUser(identifier: [1, 2, 3], name: "ada"), isDiscoverable: true, protection: .required,
        hasSecret: true)
}
