import AccessControl
import Dispatch
import Foundation
import Glibc
import OstiaryMessages
import OwnerKeys
import Owners
import Passcodes
import ProcessFacts
import PromptProtocol
import Prompting
import SecretMemory
import Settings
import StoreTestSupport
import Synchronization
import TerminalTestSupport
import Testing
import UnixSocket
import Vault

@testable import Authenticators
@testable import Broker
@testable import BrokerTestSupport
@testable import Sessions
@testable import SignIns

/// Sign-ins through the daemon's socket, against a module that does what the test says.
@Suite(.timeLimit(.minutes(5)))
struct SignInServerTests {
    private static let asked = Message.shown(0x04, "Passcode: ")
    private static let askedBesideSensor = Message.shown(0x04, "Touch the sensor. Or type your passcode: ")

    private func stageWithSensor() throws -> (SignInStage, ScriptedSensor) {
        let sensor = ScriptedSensor([.biometry])
        return (try SignInStage(sensors: AddedAuthenticators(authenticators: [sensor])), sensor)
    }

    // MARK: who

    @Test func `root's program learns whether it is the person`() throws {
        let stage = try SignInStage()
        #expect(try stage.answer(Message.query(), typing: BrokerFixture.passcode) == Message.ok)
        #expect(try stage.records() == ["granted sudo authenticate"])
        #expect(try stage.records(SignInStage.eve).isEmpty)
    }

    @Test func `a user's program asks about its user and nobody else`() throws {
        let stage = try SignInStage()
        let ada = SignInStage.ada.id
        #expect(try stage.answer(Message.query(), typing: BrokerFixture.passcode, asUser: ada) == Message.ok)
        let refused = Message.unavailable(.nobody)
        #expect(try stage.answer(Message.query("eve"), asUser: ada) == refused)
        #expect(try stage.answer(Message.query("root"), asUser: ada) == refused)
        #expect(try stage.answer(Message.query("no-such-user"), asUser: ada) == refused)
        #expect(try stage.records(SignInStage.eve).isEmpty, "it leaves no record with others")
    }

    @Test func `for root an unknown user, and one without a store, are the same`() throws {
        let stage = try SignInStage()
        #expect(try stage.answer(Message.query("no-such-user")) == Message.unavailable(.nobody))
        #expect(try stage.answer(Message.query("grace")) == Message.unavailable(.nobody))
        #expect(try stage.fixture.broker.store.vault.read { try $0.users() }.count == 2, "nobody was made an owner")
    }

    @Test func `a user's program opens no store and tells of no change`() throws {
        let stage = try SignInStage()
        try stage.account().login.set(.following)
        stage.lock()
        let ada = SignInStage.ada.id
        let refused = Message.done(.unavailable)
        #expect(try stage.answer(Message.open(with: BrokerFixture.passcode), asUser: ada) == refused)
        #expect(
            try stage.answer(Message.change(from: BrokerFixture.passcode, to: "another horse 8"), asUser: ada)
                == refused)
        #expect(try stage.answer(Message.reset(), asUser: ada) == refused)
        #expect(!stage.isUnlocked())
        #expect(try stage.account().login.state() == .following)
        #expect(try stage.failedCount() == 0)
    }

    @Test func `a user's program may have three wrong passcodes tried, and root's one more`() throws {
        let stage = try SignInStage()
        let module = try stage.module(asUser: SignInStage.ada.id)
        try module.send(Message.query())
        for _ in 1...3 {
            #expect(try module.next().starts(with: Message.head + [0x04]))
            try module.send(Message.typed("wrong"))
            let next = try module.next()
            if next == Message.no { break }
            // "Wrong passcode.", and what comes after more of them
            #expect(next.starts(with: Message.head + [0x05]))
            if let line = try? module.next(), !line.starts(with: Message.head + [0x03]) {
                Issue.record("no consequence but \(line)")
            }
        }
        #expect(try stage.failedCount() == 3)
        #expect(
            try stage.answer(Message.query(), asUser: SignInStage.ada.id) == Message.unavailable(.nothingToProve))
        #expect(try stage.answer(Message.query(), typing: BrokerFixture.passcode) == Message.ok)
        #expect(
            try stage.answer(Message.query(), typing: BrokerFixture.passcode, asUser: SignInStage.ada.id) == Message.ok)
    }

    /// Everybody in the network can type at `sshd`. A chip looks at no passcode any more after ten.
    @Test func `sign-ins bring no pause and take no more than four tries, however often others type`() throws {
        let stage = try SignInStage()
        for _ in 1...4 {
            let module = try stage.module()
            try module.send(Message.query())
            var message = try module.next()
            while !message.starts(with: Message.head + [0x04]) { message = try module.next() }
            try module.send(Message.typed("wrong"))
            _ = try module.next()
            module.hangUp()
        }
        try eventually("the tries are counted") { try stage.failedCount() == 4 }
        for remote in ["", "far.example"] {
            #expect(try stage.answer(Message.query(remote: remote)) == Message.unavailable(.nothingToProve))
        }
        #expect(try stage.failedCount() == 4)
        #expect(try stage.account().keeper.attempts().remaining == .zero, "the owner's own programs ask at once")
        _ = try stage.account().keeper.prove(SecretBytes(text: BrokerFixture.passcode))
        #expect(try stage.answer(Message.query(), typing: BrokerFixture.passcode) == Message.ok)
    }

    @Test func `numbers without a name have no place`() throws {
        let stage = try SignInStage()
        for number in 70_000..<70_200 as Range<UInt32> {
            #expect(throws: NeverHappened.self, "it is sent away without a word") {
                _ = try stage.module(asUser: number)
            }
        }
        #expect(try stage.answer(Message.query(), typing: BrokerFixture.passcode) == Message.ok)
    }

    @Test func `su for another user is asked nothing, and tells nothing`() throws {
        let (stage, sensor) = try stageWithSensor()
        let refused = Message.unavailable(.nobody)
        for asker in [SignInStage.eve.id, SignInUsers.unknown] {
            stage.runPrograms(by: asker)
            for user in ["ada", "grace", "no-such-user", "root"] {
                #expect(try stage.answer(Message.query(user)) == refused)
            }
        }
        #expect(sensor.armedCount == 0)
        #expect(try stage.failedCount() == 0)
        #expect(try stage.records().isEmpty)
        stage.runPrograms(by: SignInStage.ada.id)
        let module = try stage.module()
        try module.send(Message.query())
        #expect(try module.next() == Self.askedBesideSensor, "sudo asks about the user who runs it")
    }

    @Test func `one user who runs sudo again and again keeps nobody else from signing in`() throws {
        let stage = try SignInStage()
        stage.runPrograms(by: SignInStage.eve.id)
        var modules: [ScriptedModule] = []
        for _ in 1...16 {
            let module = try stage.module()
            try module.send(Message.query("eve"))
            #expect(try module.next() == Self.asked)
            modules.append(module)
        }
        #expect(try ScriptedModule(connectedTo: stage.path).receive().isEmpty, "it is sent away without a word")
        for user in [nil, SignInStage.ada.id] {
            stage.runPrograms(by: user)
            #expect(try stage.answer(Message.query(), typing: BrokerFixture.passcode) == Message.ok)
        }
        stage.runPrograms(by: SignInStage.eve.id)
        modules.removeLast().hangUp()
        try eventually("its place is free") {
            try ScriptedModule(connectedTo: stage.path).receive() == Message.hello
        }
        withExtendedLifetime(modules) {}
    }

    @Test func `answers that come at once have no more tries than one after the other`() throws {
        let stage = try SignInStage()
        let modules = try (1...8).map { _ in try stage.module() }
        for module in modules { try module.send(Message.query()) }
        for module in modules { #expect(try module.next() == Self.asked) }
        for module in modules { try module.send(Message.typed("wrong")) }
        for module in modules {
            // What comes first: a complaint about the wrong passcode, or that nothing is tried.
            _ = try module.next()
            module.hangUp()
        }
        #expect(try stage.failedCount() <= 4)
    }

    // MARK: sensors

    @Test func `finger and field wait together, and the finger ends the question`() throws {
        let (stage, sensor) = try stageWithSensor()
        sensor.prepare([ScriptedSensor.proves()])
        let module = try stage.module()
        try module.send(Message.query())
        #expect(try module.next() == Self.askedBesideSensor)
        #expect(try module.next() == Message.ok)
        // The person types in that moment. The daemon takes nothing of it.
        try? module.send(Message.typed("wrong"))
        #expect(try stage.failedCount() == 0)
        #expect(try stage.records() == ["granted sudo authenticate"])
    }

    @Test func `without a field the finger's line is a text`() throws {
        let (stage, sensor) = try stageWithSensor()
        sensor.prepare([ScriptedSensor.proves()])
        let module = try stage.module()
        try module.send(Message.query(flags: 0))
        #expect(try module.next() == Message.shown(0x03, "Touch the sensor."))
        #expect(try module.next() == Message.ok)
    }

    @Test func `a person who is told nothing is asked for no finger`() throws {
        let (stage, sensor) = try stageWithSensor()
        #expect(try stage.answer(Message.query(flags: 1)) == Message.unavailable(.nothingToProve))
        #expect(sensor.armedCount == 0)
    }

    /// A program of the person may run sudo where nobody looks, and the person sits before the camera.
    @Test func `a face makes nobody root beside a conversation that a user's program may have begun`() throws {
        let face = ScriptedSensor([.biometry], .face)
        let stage = try SignInStage(sensors: AddedAuthenticators(authenticators: [face]))
        stage.runPrograms(by: SignInStage.ada.id)
        #expect(try stage.answer(Message.query(), typing: BrokerFixture.passcode) == Message.ok)
        #expect(try stage.answer(Message.query(flags: 0)) == Message.unavailable(.nothingToProve))
        #expect(
            try stage.answer(Message.query(), typing: BrokerFixture.passcode, asUser: SignInStage.ada.id) == Message.ok)
        #expect(face.armedCount == 0)
        stage.runPrograms(by: nil)
        face.prepare([ScriptedSensor.proves()])
        #expect(try stage.answer(Message.query(service: "gdm", flags: 0)).starts(with: Message.head + [0x03]))
        try eventually("at a greeter it may") { face.armedCount == 1 }
    }

    @Test(arguments: [TerminalPolicy.any, .login, .never])
    func `a finger waits beside a conversation as the settings say`(policy: TerminalPolicy) throws {
        let sensor = ScriptedSensor([.biometry])
        var prompts = PromptConfiguration()
        prompts.fingerPolicy = policy
        let stage = try SignInStage(sensors: AddedAuthenticators(authenticators: [sensor]), prompts: prompts)
        stage.runPrograms(by: SignInStage.ada.id)
        let module = try stage.module()
        try module.send(Message.query())
        #expect(try module.next() == (policy == .any ? Self.askedBesideSensor : Self.asked))
    }

    @Test func `unless a file says else, the next touch goes to no sudo of a user`() throws {
        let sensor = ScriptedSensor([.biometry])
        let sensors = AddedAuthenticators(authenticators: [sensor])
        let stage = try SignInStage(sensors: sensors, prompts: .ofMachine)
        stage.runPrograms(by: SignInStage.ada.id)
        #expect(try stage.answer(Message.query(), typing: BrokerFixture.passcode) == Message.ok)
        #expect(sensor.armedCount == 0)
        stage.runPrograms(by: nil)
        sensor.prepare([ScriptedSensor.proves()])
        #expect(try stage.answer(Message.query(service: "gdm", flags: 0)).starts(with: Message.head + [0x03]))
        try eventually("at a greeter it may") { sensor.armedCount == 1 }
    }

    @Test func `a remote host arms no sensor`() throws {
        let (stage, sensor) = try stageWithSensor()
        let query = Message.query(service: "sshd", remote: "far.example")
        let module = try stage.module()
        try module.send(query)
        #expect(try module.next() == Self.asked)
        try module.send(Message.typed(BrokerFixture.passcode))
        #expect(try module.next() == Message.ok)
        #expect(sensor.armedCount == 0)
    }

    @Test func `a person who sits elsewhere has no sensor`() throws {
        let (stage, sensor) = try stageWithSensor()
        for refusal in [SensorRefusal.remote, .notActive, .withoutSession, .sessionLocked, .unknownSession] {
            stage.fixture.prompter.refuseSensors(because: refusal)
            #expect(try stage.answer(Message.query(), typing: BrokerFixture.passcode) == Message.ok)
        }
        #expect(sensor.armedCount == 0)
    }

    /// GDM's worker for the screen's lock runs in the session that it unlocks, as the person's sudo does.
    @Test func `at a locked screen a finger waits for GDM's own program, and for no other one of root's`() throws {
        let kernel = try KernelFacts().hold(getpid())
        let (status, exit) = (try kernel.status(), try kernel.exit())
        let process = PlayedProcess(getpid()) {
            $0.status = .success(status)
            $0.exit = .success(exit)
        }
        var facts = PlayedFacts()
        facts.processes[getpid()] = .success(process)
        let sensor = ScriptedSensor([.biometry])
        let stage = try SignInStage(
            sensors: AddedAuthenticators(authenticators: [sensor]), prompts: .ofMachine, facts: facts)
        stage.runPrograms(by: SignInStage.ada.id)
        stage.fixture.prompter.refuseSensors(because: .sessionLocked)
        let sudo = try stage.module()
        try sudo.send(Message.query())
        #expect(try sudo.next() == Self.asked)
        process.change {
            $0.name = .success(ExecutedName(path: "/usr/libexec/gdm-session-worker", isTrue: true))
        }
        let lock = try stage.module()
        try lock.send(Message.query(service: "gdm-password"))
        #expect(try lock.next() == Self.askedBesideSensor)
        #expect(sensor.waitUntilArmed())
        lock.hangUp()
        try eventually("the sensor is off") { !sensor.isArmed }
        stage.fixture.prompter.refuseSensors(because: nil)
        let other = try stage.module()
        try other.send(Message.query(service: "gdm-password"))
        #expect(try other.next() == Self.asked, "the session is not locked: a program of the person had GDM ask")
    }

    // MARK: the module

    @Test func `a module that hangs up ends the question within a second`() throws {
        let (stage, sensor) = try stageWithSensor()
        let module = try stage.module()
        try module.send(Message.query())
        #expect(try module.next() == Self.askedBesideSensor)
        #expect(sensor.waitUntilArmed())
        let start = ContinuousClock.now
        module.hangUp()
        try eventually("the sensor is off") { !sensor.isArmed }
        #expect(ContinuousClock.now - start < .seconds(1))
        try eventually("it is recorded") { try stage.records() == ["refused sudo authenticate"] }
    }

    @Test func `the daemon says each second that it is there, but not while the person types`() throws {
        let (stage, _) = try stageWithSensor()
        let module = try stage.module()
        try module.send(Message.query(flags: 0))
        #expect(try module.receive() == Message.shown(0x03, "Touch the sensor."))
        let start = ContinuousClock.now
        for _ in 1...2 { #expect(try module.receive() == Message.wait) }
        #expect(ContinuousClock.now - start < .seconds(3))
        let typing = try stage.module()
        try typing.send(Message.query())
        #expect(try typing.receive() == Self.askedBesideSensor)
        sleep(3)
        try typing.send(Message.typed(BrokerFixture.passcode))
        #expect(try typing.receive() == Message.ok, "no wait came before it")
    }

    @Test func `two at once are asked apart`() throws {
        let stage = try SignInStage()
        let (first, second) = (try stage.module(), try stage.module())
        try first.send(Message.query())
        try second.send(Message.query("eve", service: "login"))
        #expect(try first.next() == Self.asked && (try second.next()) == Self.asked)
        try second.send(Message.typed(BrokerFixture.passcode))
        #expect(try second.next() == Message.ok)
        try first.send(Message.cancelled)
        #expect(try first.next() == Message.unavailable(.noAnswer))
        #expect(try stage.records(SignInStage.eve) == ["granted login authenticate"])
    }

    @Test(
        arguments: [
            Message.typed("abc"), Message.cancelled, [1, 2, 3], Message.hello, Message.query(flags: 8),
            Message.query() + [0], Array(repeating: 7, count: 3000),
        ] as [[UInt8]])
    func `a module that begins with anything else is sent away`(bytes: [UInt8]) throws {
        let stage = try SignInStage()
        #expect(try stage.answer(bytes).isEmpty)
    }

    @Test func `an answer that nobody asked for ends the connection`() throws {
        let (stage, sensor) = try stageWithSensor()
        let module = try stage.module()
        try module.send(Message.query(flags: 0))
        #expect(try module.next() == Message.shown(0x03, "Touch the sensor."))
        try module.send(Message.typed(BrokerFixture.passcode))
        #expect(try module.next().isEmpty)
        try eventually("the sensor is off") { !sensor.isArmed }
    }

    @Test func `no passcode, nothing to prove`() throws {
        let (stage, _) = try stageWithSensor()
        stage.fixture.prompter.prepare([.text(BrokerFixture.passcode), .confirm])
        try stage.fixture.client(as: SignInStage.ada).passcode(.remove)
        #expect(try stage.answer(Message.query()) == Message.unavailable(.nothingToProve))
    }

    @Test func `wrong three times is no`() throws {
        let stage = try SignInStage()
        let module = try stage.module()
        try module.send(Message.query())
        var last: [UInt8] = []
        for _ in 1...3 {
            last = try module.next()
            while !last.starts(with: Message.head + [0x04]) { last = try module.next() }
            try module.send(Message.typed("wrong"))
        }
        #expect(try module.next() == Message.no)
        #expect(try stage.records().last == "refused sudo authenticate")
    }

    // MARK: the terminal

    /// Keeps the callers of questions.
    private final class Recorder: Prompter {
        let callers = Mutex<[PromptCaller]>([])
        private let prompter: ScriptedPrompter
        init(_ prompter: ScriptedPrompter) { self.prompter = prompter }

        func ask(_ question: PromptQuestion, on caller: PromptCaller, live: LiveQuestion) -> PromptOutcome {
            callers.withLock { $0.append(caller) }
            return prompter.ask(question, on: caller, live: live)
        }
    }

    @Test func `a terminal that comes along is asked at, as the user's`() throws {
        let kept = Kept<Recorder>()
        let stage = try SignInStage { prompter in kept.keep(Recorder(prompter)) }
        let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        defer { close(terminal) }
        stage.fixture.prompter.prepare([.text(BrokerFixture.passcode)])
        let module = try stage.module()
        try module.send(Message.query(flags: 6), terminal: terminal)
        #expect(try module.next() == Message.ok, "nothing is asked in the conversation")
        let caller = try #require(kept.value?.callers.withLock { $0.last })
        #expect(caller.userID == SignInStage.ada.id && caller.terminal != nil)
        let question = try #require(stage.fixture.prompter.asked.first)
        #expect(question.operation.string == "confirm that it is you")
    }

    @Test func `where the terminal cannot be asked at, the conversation is`() throws {
        let stage = try SignInStage()
        let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        defer { close(terminal) }
        stage.fixture.prompter.prepare([.nobody])
        let module = try stage.module()
        try module.send(Message.query(flags: 6), terminal: terminal)
        #expect(try module.next() == Self.asked)
        try module.send(Message.typed(BrokerFixture.passcode))
        #expect(try module.next() == Message.ok)
    }

    // MARK: the end

    @Test func `the end of the server ends its questions and leaves the listener`() throws {
        let (stage, sensor) = try stageWithSensor()
        let module = try stage.module()
        try module.send(Message.query())
        #expect(try module.next() == Self.askedBesideSensor)
        stage.stopServer()
        #expect(!sensor.isArmed)
        // The listener still takes connections, for the next daemon.
        let waiting = try ScriptedModule(connectedTo: stage.path)
        try stage.restartServer()
        #expect(try waiting.receive() == Message.hello)
        #expect(try stage.answer(Message.query(), typing: BrokerFixture.passcode) == Message.ok)
    }

    @Test func `a sign-in that does not end is waited for from the beginning of the end, while sessions end`() throws {
        let stage = try SignInStage()
        let (begun, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let path = stage.fixture.folder.path("held.socket")
        let server = try SignInServer(
            listening: SignInStage.listen(at: path), services: stage.fixture.broker.services,
            sessions: SeatedPerson(), prompts: PromptConfiguration(), policy: PasscodePolicy(exposure: .offline),
            users: SignInUsers(
                peer: { PeerCredentials(processID: try $0.peerCredentials().processID, userID: 0, groupID: 0) },
                named: { _ in
                    begun.signal()
                    gate.wait()
                    return nil
                }, numbered: { _ in nil }, behind: { _, _, _ in nil }))
        Thread { server.run() }.start()
        let module = try ScriptedModule(connectedTo: path)
        #expect(try module.receive() == Message.hello)
        try module.send(Message.query())
        begun.wait()
        server.beginStop()
        Thread.sleep(forTimeInterval: 3)
        let begin = ContinuousClock.now
        #expect(!server.stop(), "the store is not closed under it")
        #expect(ContinuousClock.now - begin < .seconds(SignInLimits.endSeconds - 1))
        gate.signal()
        try eventually("it has ended") { server.stop() }
    }

    /// Otherwise the service manager kills the daemon before the log is anchored.
    @Test func `what the daemon's end waits for leaves half of the service manager's time`() throws {
        let file = URL(fileURLWithPath: #filePath)
            .appendingPathComponent("../../../../packaging/system/units/ostiaryd.service").standardizedFileURL
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        let line = try #require(lines.first { $0.hasPrefix("TimeoutStopSec=") })
        let seconds = try #require(Int(line.dropFirst("TimeoutStopSec=".count)))
        #expect(2 * max(SignInLimits.endSeconds, SessionLimits.finishSeconds + SessionLimits.endSeconds) <= seconds)
    }
}

/// Keeps what a closure made.
private final class Kept<Value: AnyObject & Sendable>: Sendable {
    private let kept = Mutex<Value?>(nil)
    var value: Value? { kept.withLock { $0 } }

    func keep(_ value: Value) -> Value {
        kept.withLock { $0 = value }
        return value
    }
}
