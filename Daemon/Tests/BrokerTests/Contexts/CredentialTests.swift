import AssociationFiles
import AuthenticatorRequests
import Crypto
import ExactNames
import Foundation
import OstiaryMessages
import Passkeys
import ProcessFacts
import PromptProtocol
import Prompting
import Refusals
import Sessions
import Simulation
import StoreTestSupport
import Synchronization
import Testing

@testable import Broker
@testable import BrokerTestSupport
@testable import Callers

/// Credentials of relying parties: the programs that get one, the daemon's own part, and the person's view. The administrator's
/// folder stands in for domains; `AssociationTests` has their answers.
@Suite("Credentials of relying parties")
struct CredentialTests {
    static let applicationID = "com.example.tests"
    private let fixture: BrokerFixture
    private let client: TestClient
    private let key = SimulatedSecurityKey()
    /// Happens after the next use of a key of the enclave.
    private let interlude: Interlude

    init() throws {
        let interlude = Interlude()
        self.interlude = interlude
        fixture = try BrokerFixture(
            authenticators: CredentialAuthenticators(securityKeys: key),
            around: { InterludeEnclave(enclave: $0, interlude: interlude) })
        client = try fixture.client()
        key.touchesAtOnce()
        try FileManager.default.createDirectory(
            atPath: fixture.associationsDirectory, withIntermediateDirectories: true)
        try confirm("example.com", [Self.applicationID])
    }

    private func confirm(_ domain: String, _ applications: [String]) throws {
        let bytes = try JSONSerialization.data(withJSONObject: ["webcredentials": ["apps": applications]])
        try bytes.write(to: URL(fileURLWithPath: "\(fixture.associationsDirectory)/\(domain).json"))
    }

    /// Registers the test's own program.
    private func register(_ domains: [String] = ["example.com"]) throws {
        fixture.prompter.prepare([.confirm])
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        try client.call(
            .registerApplication(
                .with {
                    ($0.path, $0.applicationID, $0.webCredentials) = (own, Self.applicationID, domains)
                    $0.question = TestClient.question
                }))
        fixture.prompter.prepare([.wait])
    }

    /// Answers the questions for typing or confirmation with these, in order. A question about the key stays until it is taken
    /// away.
    private func play(_ answers: ScriptedPrompter.Answer...) { play(answers) }

    private func play(_ answers: [ScriptedPrompter.Answer]) {
        final class Rest: Sendable {
            let answers: Mutex<[ScriptedPrompter.Answer]>
            init(_ answers: [ScriptedPrompter.Answer]) { self.answers = Mutex(answers) }
        }
        let rest = Rest(answers)
        fixture.prompter.prepare([])
        fixture.prompter.always { question in
            if question.kind == .sensor { return .wait }
            return rest.answers.withLock { $0.isEmpty ? .cancel : $0.removeFirst() }
        }
    }

    private static let challenge = Data(1...32)

    private static func creation(_ change: (inout WireCredentialCreation) -> Void = { _ in }) -> WireCredentialCreation
    {
        .with {
            ($0.attachment, $0.relyingPartyID) = (.crossPlatform, "example.com")
            ($0.challenge, $0.userID) = (challenge, Data("anne".utf8))
            ($0.userName, $0.userDisplayName) = ("anne@example.com", "Anne Johnson")
            change(&$0)
        }
    }

    private static func assertion(
        _ change: (inout WireCredentialAssertion) -> Void = { _ in }
    ) -> WireCredentialAssertion {
        .with {
            ($0.attachment, $0.relyingPartyID, $0.challenge) = (.crossPlatform, "example.com", challenge)
            change(&$0)
        }
    }

    private func create(
        _ change: (inout WireCredentialCreation) -> Void = { _ in }
    ) throws -> (WireRegisteredCredential, Data) {
        let answer = try client.call(.registerCredential(.with { $0.creations = [Self.creation(change)] }))
        guard case .registeredCredential(let made) = answer.body else { throw TestClient.UnexpectedAnswer() }
        return (made, answer.tail)
    }

    private func assert(
        _ change: (inout WireCredentialAssertion) -> Void = { _ in }
    ) throws -> (WireAssertedCredential, Data) {
        let answer = try client.call(.assertCredential(.with { $0.assertions = [Self.assertion(change)] }))
        guard case .assertedCredential(let made) = answer.body else { throw TestClient.UnexpectedAnswer() }
        return (made, answer.tail)
    }

    private func refused(_ body: () throws -> Void) throws -> Refused? {
        do { try body() } catch let refused as Refused { return refused }
        return nil
    }

    /// The public key at the end of an attestation object: COSE, with x and y of 32 bytes each.
    private func publicKey(_ made: WireRegisteredCredential) throws -> P256.Signing.PublicKey {
        let bytes = Array(made.attestationObject)
        return try P256.Signing.PublicKey(
            rawRepresentation: bytes[(bytes.count - 67)..<(bytes.count - 35)] + bytes[(bytes.count - 32)...])
    }

    // MARK: the daemon's part

    @Test func `a registered program registers and signs in`() throws {
        try register()
        let (made, _) = try create()
        #expect(
            String(decoding: made.clientDataJSON, as: UTF8.self) == """
                {"type":"webauthn.create","challenge":"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA",\
                "origin":"https://example.com","crossOrigin":false}
                """)
        #expect(made.transports == ["usb"] && made.attachment == .crossPlatform && made.supportsPRF == nil)
        fixture.prompter.prepare([.wait])
        let (asserted, tail) = try assert { $0.allowed = [.with { $0.credentialID = made.credentialID }] }
        #expect(asserted.userHandle == Data("anne".utf8) && tail.isEmpty)
        let hash = Data(SHA256.hash(data: asserted.clientDataJSON))
        let signature = try P256.Signing.ECDSASignature(derRepresentation: asserted.signature)
        #expect(try publicKey(made).isValidSignature(signature, for: asserted.authenticatorData + hash))
        #expect(String(decoding: asserted.clientDataJSON, as: UTF8.self).contains(#""type":"webauthn.get""#))
    }

    @Test func `the question names the domain, the account and the program, and follows the key`() throws {
        try register()
        _ = try create()
        let question = try #require(fixture.prompter.asked.first)
        #expect(question.kind == .sensor && question.sensors.map(\.kind) == [.securityKey])
        #expect(question.object?.string == "example.com")
        #expect(
            question.operation.string
                == "register a credential for the account “anne@example.com”, called “Anne Johnson”")
        #expect(question.isShownInFull)
        #expect(fixture.prompter.updates.contains { $0.text.string == "Touch the security key “Simulated key”." })
    }

    @Test func `hidden characters of an account are written out, and none ends a quotation`() throws {
        try register()
        _ = try create {
            $0.userName = "anne\u{202E}moc”, called “Bob\n"
            $0.userDisplayName = "\u{200B}"
        }
        #expect(
            fixture.prompter.asked.first?.operation.string
                == "register a credential for the account “anne\\u{202e}moc\\u{201d}, called \\u{201c}Bob\\u{a}”, called "
                + "“\\u{200b}”")
    }

    @Test func `inputs of the PRF extension are hashed, and the outputs are the tail`() throws {
        try register()
        let inputs = WirePRFInputs.with { ($0.first, $0.second) = (Data("one".utf8), Data("two".utf8)) }
        let (made, outputs) = try create { $0.prf = inputs }
        #expect(made.supportsPRF == true && outputs.count == 64 && outputs.prefix(32) != outputs.suffix(32))
        fixture.prompter.prepare([.wait])
        let (_, again) = try assert { $0.prf = inputs }
        #expect(again == outputs)
        fixture.prompter.prepare([.wait])
        let (_, other) = try assert {
            $0.allowed = [.with { $0.credentialID = made.credentialID }]
            $0.prf = inputs
            $0.prfByCredential = [
                .with { ($0.credentialID, $0.inputs) = (made.credentialID, .with { $0.first = Data("two".utf8) }) }
            ]
        }
        #expect(other == outputs.suffix(32))
    }

    @Test func `both are in the log, with the domain`() throws {
        try register()
        _ = try create()
        fixture.prompter.prepare([.wait])
        _ = try assert()
        let records = try client.log().filter { $0.event.hasPrefix("credential-") }
        #expect(records.map(\.event) == ["credential-register", "credential-assert"])
        #expect(records.allSatisfy { $0.object == "example.com" && $0.result == "granted" })
    }

    // MARK: refused programs

    @Test func `a program without a registration gets nothing, and nobody is asked`() throws {
        fixture.prompter.prepare([.wait])
        #expect(try refused { _ = try create() }?.cause == "association.not-registered")
        #expect(try refused { _ = try assert() }?.code == .notAssociated)
        #expect(fixture.prompter.asked.isEmpty && !key.isWaiting)
        let records = try client.log().filter { $0.event == "credential-register" }
        #expect(records.map(\.result) == ["refused"] && records.first?.object == "example.com")
    }

    @Test(arguments: ["www.example.com", "example.org", "com.example", "xample.com"])
    func `a domain that the program is not registered for is refused, even if it names the program`(domain: String)
        throws
    {
        try register()
        try confirm(domain, [Self.applicationID])
        #expect(try refused { _ = try create { $0.relyingPartyID = domain } }?.cause == "association.not-registered")
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test(arguments: [
        "", "com", "localhost", "example.com.", ".example.com", "Example.com", "exämple.com", "192.0.2.1",
        "example.0x7f",
        "example .com", "https://example.com", "example.com:443", "-a.com", String(repeating: "a", count: 64) + ".com",
    ])
    func `what is no domain is refused before anything else`(text: String) throws {
        try register()
        #expect(try refused { _ = try create { $0.relyingPartyID = text } }?.cause == "credential.relying-party")
    }

    @Test func `a domain that names another program is refused`() throws {
        try register()
        for applications in [[], ["com.example.test"], ["com.example.tests2"], ["COM.EXAMPLE.TESTS"]] {
            try confirm("example.com", applications)
            #expect(try refused { _ = try create() }?.cause == "association.not-listed")
        }
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `an administrator's file that does not count is a no, not an absent file`() throws {
        try register()
        let path = "\(fixture.associationsDirectory)/example.com.json"
        func isUnreadable() throws -> Bool {
            try refused { _ = try create() }?.cause == "association.unreadable-file"
        }
        #expect(chmod(path, 0o666) == 0)
        #expect(try isUnreadable())
        #expect(chmod(path, 0o644) == 0)
        #expect(try !isUnreadable())
        try Data("no JSON".utf8).write(to: URL(fileURLWithPath: path))
        #expect(try isUnreadable())
        try confirm("example.com", [Self.applicationID])
        try FileManager.default.moveItem(atPath: path, toPath: path + ".moved")
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path + ".moved")
        #expect(try isUnreadable())
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: path + ".moved", toPath: path)
        #expect(chmod(fixture.associationsDirectory, 0o777) == 0)
        #expect(try isUnreadable())
    }

    @Test(.enabled(if: geteuid() == 0, "Only root can give files away."))
    func `an association file of another user does not count`() throws {
        try register()
        #expect(chown("\(fixture.associationsDirectory)/example.com.json", 1, 1) == 0)
        #expect(try refused { _ = try create() }?.cause == "association.unreadable-file")
    }

    @Test func `without a file and a helper nobody is confirmed`() throws {
        try register()
        try FileManager.default.removeItem(atPath: "\(fixture.associationsDirectory)/example.com.json")
        #expect(try refused { _ = try create() }?.cause == "association.helper")
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `a registration that is taken back while the key waits releases nothing`() throws {
        try register()
        let other = try fixture.client()
        play(.confirm)
        key.touchesAtOnce(false)
        let id = try client.send(.registerCredential(.with { $0.creations = [Self.creation()] }))
        while !key.isWaiting { usleep(1000) }
        try other.call(
            .removeApplication(.with { ($0.applicationID, $0.question) = (Self.applicationID, TestClient.question) }))
        key.touch()
        let answer = try client.answer()
        #expect(answer.id == id && answer.refused?.code == .systemCancel)
    }

    // MARK: malformed input

    @Test func `fields out of their limits are refused, and nobody is asked`() throws {
        try register()
        let identifier = WireCredentialDescriptor.with { $0.credentialID = Data([1]) }
        let creations: [(inout WireCredentialCreation) -> Void] = [
            { $0.challenge = Data() }, { $0.challenge = Data(count: 1025) }, { $0.userID = Data() },
            { $0.userID = Data(count: 65) }, { $0.userName = String(repeating: "a", count: 257) },
            { $0.algorithms = Array(repeating: -7, count: 33) },
            { $0.excluded = Array(repeating: identifier, count: 65) }, { $0.excluded = [.init()] },
            { $0.excluded = [.with { $0.credentialID = Data(count: 1024) }] }, { $0.attachment = .unspecified },
            { $0.attachment = .UNRECOGNIZED(9) }, { $0.userVerification = .UNRECOGNIZED(9) },
            { $0.attestation = .UNRECOGNIZED(9) },
            { $0.prf = .with { $0.first = Data(count: 1025) } },
        ]
        for change in creations { #expect(try refused { _ = try create(change) }?.code == .invalidParameter) }
        let assertions: [(inout WireCredentialAssertion) -> Void] = [
            { $0.challenge = Data() }, { $0.appID = "https://example.org" },
            { $0.appID = "https://example.com.evil.org" },
            { $0.writtenLargeBlob = Data([1]) },
            {
                $0.allowed = [identifier]
                $0.writtenLargeBlob = Data(count: 4097)
            },
            { $0.prfByCredential = [.with { $0.credentialID = Data([9]) }] },
        ]
        for change in assertions { #expect(try refused { _ = try assert(change) }?.code == .invalidParameter) }
        #expect(
            try refused { try client.call(.registerCredential(.with { $0.creations = [] })) }?.code
                == .invalidParameter)
        let twice = [Self.creation(), Self.creation()]
        #expect(
            try refused { try client.call(.registerCredential(.with { $0.creations = twice })) }?.code
                == .invalidParameter)
        let mixed = [
            Self.creation(),
            Self.creation {
                $0.attachment = .platform
                $0.relyingPartyID = "example.org"
            },
        ]
        #expect(
            try refused { try client.call(.registerCredential(.with { $0.creations = mixed })) }?.code
                == .invalidParameter)
        #expect(fixture.prompter.asked.isEmpty)
    }

    // MARK: the person and the key

    @Test func `a person who cancels ends the key's wait`() throws {
        try register()
        key.touchesAtOnce(false)
        fixture.prompter.prepare([.cancel])
        #expect(try refused { _ = try create() }?.code == .userCancel)
        #expect(!key.isWaiting)
    }

    @Test func `a program that cancels ends the question and the key's wait`() throws {
        try register()
        key.touchesAtOnce(false)
        let id = try client.send(.assertCredential(.with { $0.assertions = [Self.assertion()] }))
        while !key.isWaiting { usleep(1000) }
        try client.send(.cancel(.with { $0.requestID = id }))
        let answers = [try client.answer(), try client.answer()]
        #expect(answers.first { $0.id == id }?.refused?.code == .appCancel)
        #expect(!key.isWaiting)
    }

    @Test func `nobody who can see the question means no touch`() throws {
        try register()
        fixture.prompter.prepare([.nobody, .nobody])
        #expect(try refused { _ = try create() }?.code == .notInteractive)
        fixture.prompter.prepare([.nobody, .confirm])
        fixture.prompter.refuseSensors(because: .remote)
        #expect(try refused { _ = try create() }?.code == .notInteractive)
        #expect(fixture.prompter.askedKinds.count == 1)
    }

    @Test func `a dialog that cannot show the key's state asks beforehand`() throws {
        try register()
        fixture.prompter.prepare([.nobody, .confirm])
        _ = try create()
        #expect(fixture.prompter.asked.last?.kind.isConfirmation == true && fixture.prompter.asked.count == 2)
        #expect(fixture.prompter.asked.last?.isUnproved == true)
        fixture.prompter.prepare([.nobody, .cancel])
        #expect(try refused { _ = try create() }?.code == .userCancel)
    }

    @Test func `the PIN of a key is a question of its own, and counts its tries`() throws {
        try register()
        key.setPIN("1234")
        play(.text("4321"), .text("1234"))
        _ = try create { $0.userVerification = .required }
        let kinds = fixture.prompter.askedKinds
        #expect(kinds == [.sensor, .keyPIN, .keyPIN, .sensor])
        let pins = fixture.prompter.asked.filter { $0.kind == .keyPIN }
        #expect(pins.map(\.triesLeft) == [8, 7] && pins.map { $0.notice?.string } == [nil, "Wrong PIN."])
        #expect(
            pins.allSatisfy { $0.kind.factor == .keyPIN && $0.consequence?.string.contains("Simulated key") == true })
        play(.cancel)
        #expect(try refused { _ = try create { $0.userVerification = .required } }?.code == .userCancel)
    }

    @Test func `the person chooses among several accounts`() throws {
        try register()
        _ = try create()
        fixture.prompter.prepare([.wait])
        let (second, _) = try create { ($0.userID, $0.userName, $0.userDisplayName) = (Data("bob".utf8), "bob", "") }
        play(.text("0"), .text("2"))
        let (made, _) = try assert()
        #expect(made.credentialID == second.credentialID)
        let choice = try #require(fixture.prompter.asked.last)
        #expect(
            choice.kind.options.map(\.string) == ["“anne@example.com”, called “Anne Johnson”", "“bob”"]
                && choice.notice?.string == "Type a number from 1 to 2.")
    }

    @Test func `each of many accounts can be chosen`() throws {
        try register()
        var made: [Data] = []
        for number in 1...18 {
            fixture.prompter.prepare([.wait])
            let name = "user \(number)"
            made.append(
                try create {
                    ($0.userID, $0.userName, $0.userDisplayName) = (Data(name.utf8), name, "")
                }.0.credentialID)
        }
        /// The chosen account, counted from 1, and the sizes of the lists.
        func choose(_ answers: String...) throws -> (Int?, [Int]) {
            play(answers.map { .text($0) })
            let (chosen, _) = try assert()
            return (
                made.firstIndex(of: chosen.credentialID).map { $0 + 1 },
                fixture.prompter.asked.map(\.kind.options.count).filter { $0 > 0 }
            )
        }
        #expect(try choose("8") == (8, [9]))
        #expect(try choose("9", "1") == (9, [9, 9]))
        #expect(try choose("9", "2") == (10, [9, 9]))
        #expect(try choose("9", "9", "2") == (18, [9, 9, 3]))
        #expect(try choose("9", "9", "10", "3", "1") == (1, [9, 9, 3, 3, 9]))
        let list = try #require(fixture.prompter.asked.first { !$0.kind.options.isEmpty })
        #expect(list.kind.options.map(\.string).suffix(2) == ["“user 8”", "Other accounts (10)"])
    }

    @Test func `all options of a registration are for the account that the question shows`() throws {
        try register()
        func offerBoth(_ change: (inout WireCredentialCreation) -> Void) throws {
            let options = [
                Self.creation(),
                Self.creation {
                    $0.attachment = .platform
                    change(&$0)
                },
            ]
            try client.call(.registerCredential(.with { $0.creations = options }))
        }
        let others: [(inout WireCredentialCreation) -> Void] = [
            { $0.userID = Data("bob".utf8) }, { $0.userName = "bob@example.com" }, { $0.userName = "" },
        ]
        for change in others {
            play()
            let refused = try refused { try offerBoth(change) }
            #expect(refused?.code == .invalidParameter && refused?.cause == "credential.accounts")
            #expect(fixture.prompter.asked.isEmpty)
        }
        let names = [("Anne Johnson", "“anne@example.com”, called “Anne Johnson”"), ("", "“anne@example.com”")]
        for (name, shown) in names {
            // The security key: it is the first.
            play(.text("1"))
            try offerBoth { $0.userDisplayName = name }
            let question = try #require(fixture.prompter.asked.first)
            #expect(question.operation.string == "register a credential for the account \(shown)")
        }
    }

    @Test(arguments: [
        (CredentialRefusal.excluded, WireFailureCode.credentialExcluded), (.noCredential, .noCredential),
        (.timedOut, .timedOut), (.pinBlocked, .authenticatorFailed), (.storageFull, .authenticatorFailed),
        (.removed, .authenticatorFailed), (.malformedAnswer, .invalidAuthenticatorAnswer),
        (.helperFailed(reason: "secret words"), .authenticatorFailed), (.refused(status: 0x7F), .authenticatorFailed),
    ])
    func `each refusal of an authenticator has its code`(refusal: CredentialRefusal, code: WireFailureCode) throws {
        try register()
        key.refuse(refusal)
        let refused = try #require(try refused { _ = try create() })
        #expect(refused.code == code && refused.cause.hasPrefix("credential."))
        #expect(!refused.explanation.contains("secret words"))
    }

    @Test func `an excluded credential makes no other`() throws {
        try register()
        let (made, _) = try create()
        fixture.prompter.prepare([.wait])
        let excluded = [WireCredentialDescriptor.with { $0.credentialID = made.credentialID }]
        #expect(try refused { _ = try create { $0.excluded = excluded } }?.code == .credentialExcluded)
    }

    @Test func `this machine answers with a passcode alone`() throws {
        try register()
        #expect(
            try refused { _ = try create { $0.attachment = .platform } }?.code == .passcodeNotSet)
        #expect(
            try refused {
                try client.call(
                    .assertCredential(
                        .with {
                            $0.assertions = [Self.assertion()]
                            $0.onlyIfAtHand = true
                        }))
            }?.code == .noCredential)
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `a registration that ends before its release leaves the account's former passkey`() throws {
        try register()
        try fixture.setPasscode()
        func create() throws -> [UInt8] {
            fixture.prompter.prepare([.text(BrokerFixture.passcode)])
            return try Array(self.create { $0.attachment = .platform }.0.credentialID)
        }
        func passkeys() throws -> [[UInt8]] { try fixture.account.passkeys.all().map(\.identifier) }
        let former = try create()
        interlude.next { [broker = fixture.broker] in broker.sessions.endAllGrants() }
        #expect(try refused { _ = try create() }?.code == .systemCancel)
        #expect(try passkeys() == [former])
        let next = try create()
        #expect(try passkeys() == [next])
    }

    @Test func `an answer of another relying party is not released`() throws {
        let answer = AssertedCredential(
            credentialIdentifier: [1],
            authenticatorData: Array(SHA256.hash(data: Data("example.org".utf8))) + Array(repeating: 0, count: 5),
            signature: [1], userHandle: nil, attachment: .crossPlatform)
        let relyingParty = try #require(RelyingPartyIdentifier("example.com"))
        let assertion = CredentialAssertion(
            clientDataHash: [], relyingParty: RelyingPartyName(identifier: "example.com"))
        #expect(throws: Refusal.malformedAnswer) { try answer.check(against: assertion, for: relyingParty) }
    }
}
