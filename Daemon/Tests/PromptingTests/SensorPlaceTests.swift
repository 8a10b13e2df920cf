import Glibc
import ProcessFacts
import PromptProtocol
import Settings
import SystemBusTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

@testable import Prompting

extension RealPromptTests {
    /// Beside which questions a sensor may wait.
    @Suite struct SensorPlaceTests {
        private static let touch = PromptSensor(.finger, DisplayText("Touch the sensor."))
        private static let either = PromptQuestion(
            .enterPasscode, sensors: [touch], operation: DisplayText("read"))
        private static let finger = PromptQuestion(.sensor, sensors: [touch], operation: DisplayText("read"))
        private static let camera = PromptSensor(.face, DisplayText("Look at the camera."))
        private static let fingerOrFace = PromptQuestion(
            .enterPasscode, sensors: [touch, camera], operation: DisplayText("read"))
        private static let faceOrFinger = PromptQuestion(
            .enterPasscode, sensors: [camera, touch], operation: DisplayText("read"))
        private static let face = PromptQuestion(.sensor, sensors: [camera], operation: DisplayText("read"))

        let terminal: PseudoTerminal
        let process: CallerProcess

        init() throws {
            terminal = try PseudoTerminal()
            process = try CallerProcess(on: terminal)
        }

        private func ask(
            _ question: PromptQuestion, _ policy: TerminalPolicy = .any, ofFaces facePolicy: TerminalPolicy? = nil,
            hasLogin: Bool = false, unless refusal: SensorRefusal? = nil
        ) throws -> Asking {
            var configuration = PromptConfiguration()
            configuration.fingerPolicy = policy
            if let facePolicy { configuration.facePolicy = facePolicy }
            var facts = PlayedFacts()
            facts.hasLogin = { _, _ in hasLogin }
            let prompter = ProcessPrompter(
                program: Build.prompt, configuration: configuration, userID: geteuid(),
                facts: facts,
                // No display: a question that the terminal shows without its sensors would come there.
                buses: SessionBuses(system: "/nonexistent", user: "/nonexistent"),
                sessions: SeatedPerson(unless: refusal))
            return try Asking(prompter, question, on: process.caller(terminal.slave))
        }

        /// The question is put without the sensor, and nobody is told that it is visible.
        private func expectNoSensor(beside asking: Asking) {
            terminal.waitFor("Passcode: ")
            #expect(terminal.shows("Ostiary asks for your passcode.") && !terminal.shows("finger"))
            terminal.type("x\r")
            #expect(asking.wait() == .entered("x", .passcode))
            #expect(!asking.isShown)
        }

        @Test func `the words for a terminal without sensors name no file, which need not be there`() {
            #expect(!SensorRefusal.terminalForbidden.words.contains("ostiaryd.conf"))
        }

        private func expectSensor(beside asking: Asking) throws {
            terminal.waitFor("Passcode: ")
            #expect(terminal.shows("or your finger"))
            try eventually("it is visible") { asking.isShown }
            terminal.type("x\r")
            #expect(asking.wait() == .entered("x", .passcode))
        }

        @Test(arguments: [SensorRefusal.remote, .notActive, .sessionLocked, .withoutSession, .unknownSession])
        func `a program whose person does not sit at this machine gets none`(refusal: SensorRefusal) throws {
            expectNoSensor(beside: try ask(Self.either, unless: refusal))
            terminal.clearScreen()
            #expect(try ask(Self.finger, unless: refusal).wait() == .unavailable(.sensorRefused(refusal)))
            #expect(terminal.screen.isEmpty)
        }

        @Test(arguments: [
            (TerminalPolicy.any, false, true), (.any, true, true), (.login, false, false), (.login, true, true),
            (.never, false, false), (.never, true, false),
        ])
        func `on terminals as the configuration says`(policy: TerminalPolicy, hasLogin: Bool, isAllowed: Bool) throws {
            let asking = try ask(Self.either, policy, hasLogin: hasLogin)
            if isAllowed { try expectSensor(beside: asking) } else { expectNoSensor(beside: asking) }
        }

        // MARK: faces

        @Test func `a face answers on no terminal by default, and a finger beside it does`() throws {
            let asking = try ask(Self.faceOrFinger)
            terminal.waitFor("Passcode: ")
            #expect(terminal.shows("or your finger") && !terminal.shows("face") && !terminal.shows("camera"))
            try eventually("it is visible") { asking.isShown }
            #expect(!asking.live.shows(sensor: 0) && asking.live.shows(sensor: 1))
            terminal.clearScreen()
            // What is said of a sensor that is not there is dropped, and does not appear in another's place.
            asking.live.update(PromptUpdate(sensor: 0, text: DisplayText("Somebody is there.")))
            asking.live.update(PromptUpdate(sensor: 1, text: DisplayText("Not recognised.")))
            terminal.waitFor("  Finger    Not recognised.")
            #expect(!terminal.shows("Somebody"))
            terminal.type("x\r")
            #expect(asking.wait() == .entered("x", .passcode))
        }

        @Test(arguments: [(TerminalPolicy.any, false), (.login, true)])
        func `a face answers on terminals as the configuration says`(policy: TerminalPolicy, hasLogin: Bool) throws {
            let asking = try ask(Self.fingerOrFace, .never, ofFaces: policy, hasLogin: hasLogin)
            terminal.waitFor("Passcode: ")
            #expect(terminal.shows("or your face") && !terminal.shows("finger"))
            try eventually("it is visible") { asking.isShown }
            #expect(!asking.live.shows(sensor: 0) && asking.live.shows(sensor: 1))
            terminal.type("x\r")
            #expect(asking.wait() == .entered("x", .passcode))
        }

        @Test(arguments: [(TerminalPolicy?.none, true), (.never, true), (.login, false)])
        func `a question for a face alone is not put on a terminal where none may answer`(
            policy: TerminalPolicy?, hasLogin: Bool
        ) throws {
            let asking = try ask(Self.face, ofFaces: policy, hasLogin: hasLogin)
            #expect(asking.wait() == .unavailable(.sensorRefused(.terminalForbidden)))
            #expect(terminal.screen.isEmpty && !asking.isShown)
        }

        @Test(arguments: [SensorRefusal.remote, .notActive, .sessionLocked, .withoutSession, .unknownSession])
        func `no camera looks for a program whose person does not sit at this machine`(refusal: SensorRefusal) throws {
            let asking = try ask(Self.face, ofFaces: .any, hasLogin: true, unless: refusal)
            #expect(asking.wait() == .unavailable(.sensorRefused(refusal)))
            #expect(terminal.screen.isEmpty && !asking.isShown)
        }

        @Test func `a question for a finger alone is not put on a terminal where none may wait`() throws {
            #expect(try ask(Self.finger, .never).wait() == .unavailable(.sensorRefused(.terminalForbidden)))
            #expect(try ask(Self.finger, .login).wait() == .unavailable(.sensorRefused(.terminalForbidden)))
            #expect(terminal.screen.isEmpty)
        }
    }

    /// What logind says about a program's person. logind is played.
    @Suite struct LogindSessionTests {
        private let bus: PrivateBus
        private let logind: StandInLogind
        private let user = geteuid()

        init() throws {
            bus = try PrivateBus()
            logind = try StandInLogind(on: bus)
            try logind.setSessions([10: "here", 20: "remote", 30: "background", 40: "gone", 70: "seatless"])
            try logind.addSession("remote", of: user, isRemote: true)
            try logind.addSession("background", of: user, isActive: false)
            try logind.addSession("seatless", of: user, hasSeat: false)
        }

        private func refusal(_ processID: Int32) -> SensorRefusal? {
            sessions.refusal(ofProcess: processID, of: user)
        }

        private func laterRefusal(_ processID: Int32) -> () -> SensorRefusal? {
            sessions.laterRefusal(ofProcess: processID, of: user)
        }

        private var sessions: LogindSessions {
            let unit = "/user.slice/user-\(user).slice/user@\(user).service"
            let groups: [Int32: String] = [
                10: "0::/user.slice/user-\(user).slice/session-1.scope\n", 50: "0::\(unit)/app.slice/term.scope\n",
                51: "12:pids:/\n1:name=systemd:\(unit)\n0::/\n",
                60: "0::/system.slice/cron.service\n", 61: "0::/system.slice/a.service\(unit)\n",
                62: "0::/user.slice/user-1.slice/user@1.service/a.scope\n", 63: "0::\(unit)x\n",
                64: "0::/user.slice/user-\(user).slice/session-1.scope\n", 65: "1:pids:\(unit)\n0::/\n", 66: "",
            ]
            var facts = PlayedFacts()
            facts.areOthersAbsent = true
            for (id, text) in groups {
                facts.processes[id] = .success(PlayedProcess(id) { $0.controlGroups = .success(text) })
            }
            // Processes without readable groups: absent, unreadable and refused ones, and a hidden process.
            for (id, failure) in [(80, .absent), (81, .unreadable), (82, .refused)] as [(Int32, FactFailure)] {
                facts.processes[id] = .success(PlayedProcess(id) { $0.controlGroups = .failure(failure) })
            }
            facts.processes[83] = .failure(.refused)
            return LogindSessions(systemBus: bus.path, facts: facts)
        }

        @Test func `a program in a session is where the session is`() throws {
            try logind.addSession("here", of: user)
            #expect(refusal(10) == nil)
            #expect(refusal(20) == .remote)
            #expect(refusal(30) == .notActive)
            #expect(refusal(40) == .notActive)
        }

        @Test func `a program in a session without a seat is not where its user sits`() throws {
            #expect(refusal(70) == .notActive)
            try logind.addSession("here", of: user)
            #expect(refusal(70) == .notActive)
            #expect(refusal(10) == nil)
        }

        @Test func `a program of the user manager is where its user is`() throws {
            #expect(refusal(50) == .notActive)
            try logind.addSession("other", of: user + 1)
            #expect(refusal(50) == .notActive)
            try logind.addSession("here", of: user)
            #expect(refusal(50) == nil)
            #expect(refusal(51) == nil)
        }

        @Test(arguments: [60, 61, 62, 63, 64, 65, 66, 67, 80, 81, 82, 83] as [Int32])
        func `any other program in no session is nowhere, wherever its user is`(processID: Int32) throws {
            try logind.addSession("here", of: user)
            #expect(refusal(processID) == .withoutSession)
        }

        @Test func `a program in another user's session is nowhere`() throws {
            try logind.addSession("here", of: user + 1)
            #expect(refusal(10) == .withoutSession)
        }

        @Test func `a locked session is none where somebody sees a question`() throws {
            try logind.addSession("here", of: user)
            try logind.setLockedHint("here", true)
            #expect(refusal(10) == .sessionLocked)
            #expect(refusal(50) == .sessionLocked)
            try logind.setLockedHint("here", false)
            #expect(refusal(10) == nil)
        }

        // MARK: once more

        @Test func `a session that is locked meanwhile is refused until it is unlocked`() throws {
            try logind.addSession("here", of: user)
            let looks = [laterRefusal(10), laterRefusal(50)]
            #expect(looks.map { $0() } == [nil, nil])
            try logind.setLockedHint("here", true)
            #expect(looks.map { $0() } == [.sessionLocked, .sessionLocked])
            try logind.setLockedHint("here", false)
            #expect(looks.map { $0() } == [nil, nil])
        }

        @Test func `a program of the user manager goes on where another session of its user is`() throws {
            try logind.addSession("here", of: user)
            let looks = [laterRefusal(10), laterRefusal(50)]
            try logind.addSession("second", of: user)
            try logind.setLockedHint("here", true)
            #expect(looks.map { $0() } == [.sessionLocked, nil])
        }

        @Test(arguments: [10, 50] as [Int32])
        func `a person who came after the first look is found`(processID: Int32) throws {
            let look = laterRefusal(processID)
            #expect(look() == .notActive)
            try logind.addSession("here", of: user)
            #expect(look() == nil)
        }

        @Test(arguments: [10, 50] as [Int32])
        func `a logind that ended is not believed, and the next one is asked`(processID: Int32) throws {
            try logind.addSession("here", of: user)
            let look = laterRefusal(processID)
            logind.stop()
            try eventually("logind is gone") { look() == .unknownSession }
            let next = try StandInLogind(on: bus)
            try next.setSessions([10: "here"])
            #expect(look() == .notActive)
            try next.addSession("here", of: user)
            #expect(look() == nil)
            bus.stop()
            #expect(look() == .unknownSession)
        }

        @Test func `a user has a session of any kind, or none`() throws {
            #expect(sessions.hasSession(of: user))
            #expect(!sessions.hasSession(of: user + 1))
            try logind.addSession("another", of: user + 1, isActive: false, isRemote: true)
            #expect(sessions.hasSession(of: user + 1))
            logind.stop()
            try eventually("logind is gone") { !sessions.hasSession(of: user) }
            #expect(!LogindSessions(systemBus: "/nowhere/bus", facts: KernelFacts()).hasSession(of: user))
        }

        // MARK: greeters

        private func addGreeter(_ session: String, isActive: Bool = true, isRemote: Bool = false, hasSeat: Bool = true)
            throws
        {
            try logind.addSession(session, of: 117, isActive: isActive, isRemote: isRemote, hasSeat: hasSeat)
            try logind.setClass(session, "greeter")
        }

        @Test func `a greeter is alone while the seats show nothing else`() throws {
            try logind.removeSession("remote")
            #expect(!sessions.isGreeterAlone(), "there is none")
            try addGreeter("hidden", isActive: false)
            #expect(!sessions.isGreeterAlone(), "it is in the background")
            try addGreeter("shown")
            #expect(sessions.isGreeterAlone())
            try logind.addSession("here", of: user)
            #expect(!sessions.isGreeterAlone(), "a person sits at another seat")
            try logind.removeSession("here")
            try addGreeter("second")
            #expect(!sessions.isGreeterAlone(), "another seat has a greeter")
        }

        @Test func `a person's session is no greeter, locked or not`() throws {
            try logind.removeSession("remote")
            try logind.addSession("here", of: user)
            #expect(!sessions.isGreeterAlone())
            try logind.setLockedHint("here", true)
            #expect(!sessions.isGreeterAlone())
        }

        /// LightDM names no remote host for it.
        @Test func `a greeter is not alone while its display manager shows one at another machine`() throws {
            try logind.removeSession("remote")
            try addGreeter("shown")
            try addGreeter("vnc", hasSeat: false)
            #expect(!sessions.isGreeterAlone())
            try logind.setState("vnc", "closing")
            #expect(sessions.isGreeterAlone())
        }

        @Test func `a greeter of a session from another machine is none`() throws {
            try logind.removeSession("remote")
            try addGreeter("shown", isRemote: true)
            #expect(!sessions.isGreeterAlone())
        }

        @Test func `without logind, and without a bus, no greeter is known`() throws {
            try logind.removeSession("remote")
            try addGreeter("shown")
            #expect(sessions.isGreeterAlone())
            logind.stop()
            try eventually("logind is gone") { !sessions.isGreeterAlone() }
            #expect(!LogindSessions(systemBus: "/nowhere/bus", facts: KernelFacts()).isGreeterAlone())
        }

        @Test func `without logind, and without a bus, nobody is known to sit here`() throws {
            try logind.addSession("here", of: user)
            logind.stop()
            try eventually("logind is gone") { refusal(10) == .unknownSession }
            bus.stop()
            #expect(refusal(10) == .unknownSession)
            #expect(
                LogindSessions(systemBus: "/nowhere/bus", facts: KernelFacts()).refusal(ofProcess: 10, of: user)
                    == .unknownSession)
        }
    }
}
