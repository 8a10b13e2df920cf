import CTAP
import CanonicalCBOR
import ExactNames
import Foundation
import OstiaryMessages
import Owners
import PromptProtocol
import SecretMemory
import Sessions
import Testing

@testable import Broker
@testable import BrokerTestSupport
@testable import Callers
@testable import Passkeys

/// Commands of CTAP from a program that the owner registered as a browser, or did not.
@Suite("Browsers", .timeLimit(.minutes(10)))
struct BrowserTests {
    private static let passcode = ScriptedPrompter.Answer.text(BrokerFixture.passcode)
    private static let id = "com.example.browser"
    private static let domain = "example.org"

    private let fixture: BrokerFixture
    private let client: TestClient

    init() throws {
        fixture = try BrokerFixture()
        client = try fixture.client()
        try fixture.setPasscode()
    }

    /// Registers the test's own program.
    private func register(asBrowser isBrowser: Bool = true) throws {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        fixture.prompter.prepare([Self.passcode])
        try client.call(
            .registerApplication(
                .with {
                    ($0.path, $0.applicationID, $0.isBrowser) = (own, Self.id, isBrowser)
                    $0.question = TestClient.question
                }))
    }

    private func send(_ command: [UInt8], by client: TestClient? = nil) throws -> [UInt8] {
        let answer = try (client ?? self.client).call(
            .authenticatorCommand(.init()), tail: SecretBytes(bytes: command))
        #expect(answer.body == .done(.init()))
        return [UInt8](answer.tail)
    }

    private static let making = creation(isDiscoverable: true)

    private static func creation(
        of account: UInt8 = 1, isDiscoverable: Bool, at domain: String = domain
    ) -> [UInt8] {
        command(
            .makeCredential,
            .map([
                1: .bytes([UInt8](repeating: 7, count: 32)), 2: .map(["id": .text(domain)]),
                3: .map(["id": .bytes([account]), "name": .text("ada")]),
                4: .array([.map(["alg": .number(-7), "type": .text("public-key")])]),
                7: .map(["rk": .boolean(isDiscoverable)]),
            ]))
    }

    private static let asserting = assertion(allowing: nil)

    private static func assertion(allowing identifier: [UInt8]?) -> [UInt8] {
        let allowed = identifier.map { CBORValue.array([.map(["id": .bytes($0), "type": .text("public-key")])]) }
        return command(
            .getAssertion, .map([1: .text(domain), 2: .bytes([UInt8](repeating: 7, count: 32)), 3: allowed]))
    }

    private static func command(_ command: CTAPCommand, _ parameters: CBORValue) -> [UInt8] {
        [command.rawValue] + parameters.encoded
    }

    private func cause(_ body: () throws -> Void) -> String? {
        do { try body() } catch let refused as Refused {
            #expect(refused.code == .missingEntitlement)
            return refused.cause
        } catch { Issue.record(error) }
        return nil
    }

    /// Why commands were refused, as the log has it. Refusals are held back until the broker ends.
    private func recordedCauses() throws -> [String] {
        try fixture.restart()
        return try fixture.client().log().filter { $0.event == "browser-command" }.map(\.reason)
    }

    // MARK: who may

    @Test func `a program that is not registered gets no answer, and asks nobody`() throws {
        fixture.prompter.prepare([Self.passcode])
        for command in [[CTAPCommand.getInfo.rawValue], Self.making] {
            #expect(cause { _ = try send(command) } == "browser.not-registered")
        }
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `a registration without the flag is none of a browser`() throws {
        try register(asBrowser: false)
        fixture.prompter.prepare([Self.passcode])
        #expect(cause { _ = try send(Self.making) } == "browser.not-a-browser")
        #expect(fixture.prompter.asked.isEmpty)
        #expect(try recordedCauses() == ["browser.not-a-browser"])
    }

    @Test func `a browser makes a passkey and signs in, and the log says so`() throws {
        try register()
        fixture.prompter.prepare([Self.passcode, Self.passcode])
        #expect(try send(Self.making).first == 0)
        #expect(try send(Self.asserting).first == 0)
        let asked = fixture.prompter.asked
        #expect(asked.map(\.operation.string.isEmpty) == [false, false])
        #expect(asked.first?.operation.string.hasPrefix("in a browser: make a passkey") == true)
        #expect(asked.last?.operation.string.hasPrefix("in a browser: sign in with a passkey") == true)
        #expect(asked.allSatisfy { $0.objects?.names.first?.string.contains(Self.domain) == true })
        #expect(try fixture.account.passkeys.all().map(\.attributes.signatureCount) == [2])
        let events = try client.log().map(\.event)
        for event in ["passkey-create", "credential-register", "passkey-sign"] { #expect(events.contains(event)) }
    }

    /// A domain has one spelling. Other texts could look like it in the question.
    @Test(arguments: ["caf\u{E9}.example", "cafe\u{301}.example", "Example.org", "localhost", "https://example.org"])
    func `what is no domain is refused before anybody is asked`(_ name: String) throws {
        try register()
        fixture.prompter.prepare([Self.passcode])
        #expect(
            try send(Self.creation(of: 1, isDiscoverable: true, at: name)) == [CTAPStatus.invalidParameter.rawValue])
        let assertion = Self.command(
            .getAssertion, .map([1: .text(name), 2: .bytes([UInt8](repeating: 7, count: 32))]))
        #expect(try send(assertion) == [CTAPStatus.invalidParameter.rawValue])
        #expect(fixture.prompter.asked.isEmpty)
        #expect(try fixture.account.passkeys.all().isEmpty)
    }

    /// The credential that an answer names.
    private func credential(in answer: [UInt8]) throws -> [UInt8] {
        try #require(answer.first == 0)
        let map = try #require(try CBORDecoder.decode(answer.dropFirst(), .canonical).map)
        #expect(map[5] == nil, "there are other accounts")
        return [UInt8](try #require(map[1]?.map?["id"]?.bytes))
    }

    @Test func `a passkey that is not discoverable answers only by its name, and is never replaced`() throws {
        try register()
        var made: [[UInt8]] = []
        for isDiscoverable in [false, true, false, true] {
            let former = try Set(fixture.account.passkeys.all().map(\.identifier))
            fixture.prompter.prepare([Self.passcode])
            #expect(try send(Self.creation(isDiscoverable: isDiscoverable)).first == 0)
            let new = try fixture.account.passkeys.all().map(\.identifier).filter { !former.contains($0) }
            made += new
            #expect(new.count == 1)
            guard !isDiscoverable else { continue }
            fixture.prompter.prepare([Self.passcode])
            // Nothing answers without a name, or the discoverable one does.
            let answer = try send(Self.asserting)
            if made.count == 1 {
                #expect(answer == [CTAPStatus.noCredentials.rawValue])
            } else {
                #expect(try credential(in: answer) == made[1])
            }
        }
        // The second discoverable passkey of the account has replaced the first.
        #expect(try Set(fixture.account.passkeys.all().map(\.identifier)) == [made[0], made[2], made[3]])
        for identifier in [made[0], made[2], made[3]] {
            fixture.prompter.prepare([Self.passcode])
            #expect(try credential(in: send(Self.assertion(allowing: identifier))) == identifier)
        }
        fixture.prompter.prepare([Self.passcode])
        #expect(try credential(in: send(Self.asserting)) == made[3])
    }

    @Test func `a registration that is taken back while the person is asked makes nothing`() throws {
        try register()
        fixture.prompter.prepare([Self.passcode])
        let (applications, other) = (fixture.account.applications, try fixture.client())
        fixture.prompter.duringNextQuestion {
            #expect(throws: Never.self) { for each in applications.stored { try applications.remove(each) } }
        }
        #expect(cause { _ = try send(Self.making, by: other) } == "browser.not-registered")
        #expect(fixture.prompter.asked.count == 1)
        #expect(try fixture.account.passkeys.all().isEmpty)
    }

    // MARK: commands

    @Test func `a command is as long as frames can carry one, and no longer`() throws {
        try register()
        #expect(WireLimits.authenticatorCommandByteCount == CTAPLimits.messageByteCount)
        let longest = [UInt8](repeating: CTAPCommand.getInfo.rawValue, count: CTAPLimits.messageByteCount)
        #expect(try send(longest) == [CTAPStatus.invalidLength.rawValue])
        #expect(try refusal { _ = try send(longest + [0]) } == .tooLarge)
        #expect(try send([]) == [CTAPStatus.invalidCommand.rawValue])
        #expect(try send([0xFF]) == [CTAPStatus.invalidCommand.rawValue])
    }

    @Test func `a no is a status, and its reason is in the log`() throws {
        try register()
        fixture.prompter.prepare([.cancel])
        #expect(try send(Self.making) == [CTAPStatus.operationDenied.rawValue])
        #expect(try fixture.account.passkeys.all().isEmpty)
        #expect(try recordedCauses() == ["prompt.cancelled"])
    }

    @Test func `without a passcode nobody is verified`() throws {
        try register()
        try fixture.removePasscode()
        fixture.prompter.prepare([.confirm])
        #expect(try send(Self.making) == [CTAPStatus.verificationRequired.rawValue])
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `a client learns that wrong passcodes have blocked the verification`() throws {
        try register()
        let asking = Self.command(.clientPIN, .map([1: .number(2), 2: .number(7)]))
        func triesLeft() throws -> Int? {
            let answer = try send(asking)
            return try CBORDecoder.decode(answer.dropFirst(), .canonical).map?[5]?.integer
        }
        #expect(try triesLeft() == 1)
        let wrong = ScriptedPrompter.Answer.text("wrong")
        fixture.prompter.prepare([wrong, wrong, wrong])
        #expect(try send(Self.making) == [CTAPStatus.verificationInvalid.rawValue])
        #expect(try triesLeft() == 1)
        fixture.prompter.prepare([wrong, wrong])
        #expect(try send(Self.making) == [CTAPStatus.verificationBlocked.rawValue])
        #expect(try triesLeft() == 0)
        fixture.prompter.prepare([])
        #expect(try send(Self.making) == [CTAPStatus.verificationBlocked.rawValue])
        #expect(fixture.prompter.asked.isEmpty)
        fixture.clock.advance(by: .seconds(60))
        #expect(try triesLeft() == 1)
    }

    @Test func `a cancelled command answers so, and one that comes in between is refused`() throws {
        try register()
        fixture.prompter.prepare([.wait])
        let asked = DispatchSemaphore(value: 0)
        fixture.prompter.duringNextQuestion { asked.signal() }
        let first = try client.send(.authenticatorCommand(.init()), tail: SecretBytes(bytes: Self.making))
        asked.wait()
        let second = try client.send(
            .authenticatorCommand(.init()), tail: SecretBytes(bytes: [CTAPCommand.getInfo.rawValue]))
        let refused = try client.answer()
        #expect(refused.id == second && refused.refused?.cause == "browser.busy")
        #expect(refused.refused?.code == .outOfOrder)
        let cancel = try client.send(.cancel(.with { $0.requestID = first }))
        var answers: [UInt64: [UInt8]] = [:]
        for _ in 1...2 {
            let answer = try client.answer()
            answers[answer.id] = [UInt8](answer.tail)
        }
        #expect(answers == [first: [CTAPStatus.keepaliveCancel.rawValue], cancel: []])
        fixture.prompter.prepare([Self.passcode])
        #expect(try send(Self.making).first == 0)
    }

    @Test func `the accounts that wait are gone after half a minute of the daemon's clock`() throws {
        try register()
        for number: UInt8 in [1, 2] {
            fixture.prompter.prepare([Self.passcode])
            #expect(try send(Self.creation(of: number, isDiscoverable: true)).first == 0)
        }
        // The clock counts the time of a suspend; the processor's own time stands still in it, as between these commands.
        for (seconds, status) in [(29, CTAPStatus.success), (30, .notAllowed)] {
            fixture.prompter.prepare([Self.passcode])
            #expect(try send(Self.asserting).first == 0)
            fixture.clock.advance(by: .seconds(seconds))
            #expect(try send([CTAPCommand.getNextAssertion.rawValue]).first == status.rawValue)
        }
    }

    @Test func `a lock ends the question and the accounts that wait`() throws {
        try register()
        fixture.prompter.prepare([Self.passcode])
        #expect(try send(Self.making).first == 0)
        fixture.prompter.prepare([Self.passcode])
        #expect(try send(Self.creation(of: 2, isDiscoverable: true)).first == 0)
        for isLocked in [false, true] {
            fixture.prompter.prepare([Self.passcode])
            #expect(try send(Self.asserting).first == 0)
            if isLocked { try fixture.client().lock() }
            let next = try send([CTAPCommand.getNextAssertion.rawValue])
            #expect(next.first == (isLocked ? CTAPStatus.notAllowed.rawValue : 0))
        }
        let path = fixture.socketPath
        fixture.prompter.prepare([.wait])
        fixture.prompter.duringNextQuestion {
            #expect(throws: Never.self) { try TestClient(socketPath: path).lock() }
        }
        #expect(try send(Self.asserting) == [CTAPStatus.operationDenied.rawValue])
    }

    /// Two accounts, so that an assertion leaves something for the next command.
    private func makeTwoAccounts() throws {
        for account: UInt8 in [1, 2] {
            fixture.prompter.prepare([Self.passcode])
            #expect(try send(Self.creation(of: account, isDiscoverable: true)).first == 0)
        }
    }

    private static func revoke(_ which: WireRevokeGrantsRequest.OneOf_Which, at path: String) throws {
        try TestClient(socketPath: path).call(.revokeGrants(.with { $0.which = which }))
    }

    @Test func `a revocation ends the question and the accounts that wait`() throws {
        try register()
        try makeTwoAccounts()
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let path = fixture.socketPath
        for which: WireRevokeGrantsRequest.OneOf_Which in [.all(.init()), .program(own)] {
            fixture.prompter.prepare([Self.passcode])
            #expect(try send(Self.asserting).first == 0)
            try Self.revoke(which, at: path)
            #expect(try send([CTAPCommand.getNextAssertion.rawValue]) == [CTAPStatus.notAllowed.rawValue])
            fixture.prompter.prepare([.wait])
            fixture.prompter.duringNextQuestion {
                #expect(throws: Never.self) { try Self.revoke(which, at: path) }
            }
            #expect(try send(Self.asserting) == [CTAPStatus.operationDenied.rawValue])
        }
    }

    @Test func `a revocation for another program leaves them, and finds nothing`() throws {
        try register()
        try makeTwoAccounts()
        fixture.prompter.prepare([Self.passcode])
        #expect(try send(Self.asserting).first == 0)
        #expect(
            try refusal { try Self.revoke(.program("/usr/bin/other"), at: fixture.socketPath) } == .notFound)
        #expect(try send([CTAPCommand.getNextAssertion.rawValue]).first == 0)
    }

    @Test func `another passcode ends the accounts that wait`() throws {
        try register()
        try makeTwoAccounts()
        fixture.prompter.prepare([Self.passcode])
        #expect(try send(Self.asserting).first == 0)
        try fixture.changePasscode(to: "another battery 8")
        #expect(try send([CTAPCommand.getNextAssertion.rawValue]) == [CTAPStatus.notAllowed.rawValue])
    }

    @Test func `another set of fingers ends the accounts that wait`() throws {
        try register()
        try makeTwoAccounts()
        fixture.prompter.prepare([Self.passcode])
        #expect(try send(Self.asserting).first == 0)
        fixture.broker.sessions.endGrantsOfFormerSet(of: fixture.account)
        #expect(try send([CTAPCommand.getNextAssertion.rawValue]) == [CTAPStatus.notAllowed.rawValue])
    }

    @Test func `no program removes all passkeys with one command`() throws {
        try register()
        try makeTwoAccounts()
        fixture.prompter.prepare([Self.passcode])
        #expect(try send([CTAPCommand.reset.rawValue]) == [CTAPStatus.notAllowed.rawValue])
        #expect(fixture.prompter.asked.isEmpty)
        #expect(try send(Self.asserting).first == 0)
    }
}
