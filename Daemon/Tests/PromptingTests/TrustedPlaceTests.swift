import ExactNames
import Foundation
import Glibc
import HelperProcesses
import HelperTestSupport
import ProcessFacts
import PromptProtocol
import Settings
import StoreTestSupport
import Synchronization
import TerminalTestSupport
import Testing

@testable import Prompting

/// Shows one sign to every owner, or cannot read it.
private struct Owners: PlaceOwners {
    var sign: String? = "amber otter 47"
    var isReadable = true

    private struct Unreadable: Error {}

    func options(for owner: OwnerID) throws -> TrustedPlaceOptions {
        guard isReadable else { throw Unreadable() }
        return TrustedPlaceOptions(owner: DisplayText(fact: "rosa"), sign: sign.map { DisplayText(fact: $0) })
    }
}

private struct Sessions: SessionRecords {
    var seat: String? = "seat0"
    var refusal: SensorRefusal?

    func refusal(ofProcess processID: Int32, of userID: UInt32) -> SensorRefusal? { refusal }
    func isAtMachine(_ userID: UInt32) -> Bool { true }
    func desktop(of userID: UInt32) -> ForegroundSession? { seat.map { ForegroundSession(seat: $0) } }
}

/// Which questions go to the trusted place.
@Suite struct TrustedPlaceChoiceTests {
    private static let options = TrustedPlaceOptions(owner: DisplayText("rosa"), sign: nil)

    private func choose(
        _ frontEnds: [PromptConfiguration.FrontEnd] = [.terminal, .sheet], isAtTrustedPlace: Bool = false,
        place: Result<TrustedPlaceOptions, PlaceRefusal> = .success(Self.options), isUnproved: Bool = false
    ) -> Result<PromptFrontEnd, PromptUnavailability> {
        var configuration = PromptConfiguration()
        configuration.frontEnds = frontEnds
        return FrontEndChoice(
            configuration: configuration, terminal: nil, terminalType: .vt100, isAtTrustedPlace: isAtTrustedPlace,
            findPlace: { place }, isUnproved: isUnproved, pinentryDistrust: nil
        ).choose()
    }

    @Test func `a question of the place goes there alone`() {
        #expect(choose(isAtTrustedPlace: true) == .success(.trustedPlace(Self.options)))
        for refusal in [.absent, .notAtConsole, .session(.remote), .signUnreadable] as [PlaceRefusal] {
            #expect(choose([.vt], isAtTrustedPlace: true, place: .failure(refusal)) == .failure(.placeRefused(refusal)))
        }
    }

    @Test func `the others go there where the configuration says so`() {
        #expect(choose() == .failure(.notInteractive))
        #expect(choose([.terminal, .vt]) == .success(.trustedPlace(Self.options)))
        #expect(choose([.vt], isUnproved: true) == .success(.trustedPlace(Self.options)))
        #expect(choose([.vt], place: .failure(.notAtConsole)) == .failure(.placeRefused(.notAtConsole)))
    }

    @Test func `only a program of the session on the seat with the consoles is asked about there`() {
        func refusal(_ sessions: Sessions) -> PlaceRefusal? {
            TrustedPlace(.spawned(program: "/nonexistent"), showing: Owners()).refusal(ofProcess: 1, of: 1, sessions)
        }
        #expect(refusal(Sessions()) == nil)
        #expect(refusal(Sessions(seat: "seat1")) == .notAtConsole)
        #expect(refusal(Sessions(seat: nil)) == .notAtConsole)
        for reason in [.remote, .notActive, .sessionLocked, .withoutSession, .unknownSession] as [SensorRefusal] {
            #expect(refusal(Sessions(refusal: reason)) == .session(reason))
        }
    }

    @Test func `after a question the session gets time to come back, and no longer`() {
        let time = Mutex(ContinuousClock.now)
        let place = TrustedPlace(.spawned(program: "/nonexistent"), showing: Owners(), now: { time.withLock { $0 } })
        let pauses = Mutex(0)
        func refusal(_ sessions: Sessions) -> PlaceRefusal? {
            place.refusal(ofProcess: 1, of: 1, sessions) {
                pauses.withLock { $0 += 1 }
                time.withLock { $0 += .seconds(1) }
            }
        }
        #expect(refusal(Sessions(refusal: .notActive)) == .session(.notActive))
        #expect(pauses.withLock { $0 } == 0)
        place.noteUse()
        #expect(refusal(Sessions(refusal: .remote)) == .session(.remote))
        #expect(pauses.withLock { $0 } == 0)
        #expect(refusal(Sessions(refusal: .notActive)) == .session(.notActive))
        #expect(pauses.withLock { $0 } == 3)
    }
}

extension RealPromptTests {
    /// The real prompt on a pseudo-terminal in place of a console. A file plays which console has the screen.
    @Suite struct TrustedPlaceTests {
        private let console: PseudoTerminal
        private let callerTerminal: PseudoTerminal
        private let process: CallerProcess
        private let folder: TestFolder
        private let helper: ActivatedHelper
        private var activePath: String { folder.path("active") }
        private var formerPath: String { folder.path("former") }
        private var arguments: [String] { ["--played-consoles", activePath, console.path, formerPath] }

        init() throws {
            (console, callerTerminal, folder) = (try PseudoTerminal(), try PseudoTerminal(), try TestFolder())
            process = try CallerProcess(on: callerTerminal)
            let (active, former) = (folder.path("active"), folder.path("former"))
            helper = try ActivatedHelper(Build.prompt, ["--played-consoles", active, console.path, former])
            try Self.activate(2, active)
        }

        private static func activate(_ number: UInt8, _ path: String) throws {
            try Data([0, number]).write(to: URL(fileURLWithPath: path))
        }

        private var active: [UInt8] {
            (try? Data(contentsOf: URL(fileURLWithPath: activePath))).map { Array($0) } ?? []
        }
        private var isFormerKept: Bool { access(formerPath, F_OK) == 0 }

        private func prompter(_ owners: Owners = Owners(), _ sessions: Sessions = Sessions()) -> ProcessPrompter {
            var helpers = HelperRoads.beside(program: Build.prompt)
            helpers.trustedPlace = helper.road
            return ProcessPrompter(
                helpers, configuration: PromptConfiguration(), userID: getuid(), facts: KernelFacts(),
                buses: SessionBuses(system: "/nonexistent", user: "/nonexistent"), sessions: sessions,
                trustedPlace: TrustedPlace(helper.road, showing: owners))
        }

        private func ask(_ prompter: ProcessPrompter, _ question: PromptQuestion) throws -> Asking {
            try Asking(prompter, question, on: process.caller(callerTerminal.slave, owner: .numbered(1)))
        }

        @Test func `a question is put on the console with the sign, and the former console comes back`() throws {
            let asking = try ask(prompter(), PromptQuestion.passcode.atTrustedPlace)
            console.waitFor("Passcode: ")
            #expect(active == [0, 8] && isFormerKept)
            #expect(console.shows("amber otter 47") && console.shows("rosa") && !console.echoes)
            console.type("correct horse\r")
            #expect(asking.wait() == .entered("correct horse", .passcode))
            try eventually("the former console is back") { active == [0, 2] && !isFormerKept }
            #expect(callerTerminal.screen.isEmpty, "nothing was shown to the program")
            #expect(console.screen.hasSuffix("\u{1B}[2J\u{1B}[3J\u{1B}[H"), "the screen was cleared")
        }

        @Test func `the sign is shown nowhere else`() throws {
            let asking = try ask(prompter(), .passcode)
            callerTerminal.waitFor("Passcode: ")
            #expect(!callerTerminal.shows("otter") && console.screen.isEmpty && active == [0, 2])
            callerTerminal.type("typed\r")
            #expect(asking.wait() == .entered("typed", .passcode))
        }

        @Test func `without a sign the console says so`() throws {
            let asking = try ask(prompter(Owners(sign: nil)), PromptQuestion.passcode.atTrustedPlace)
            console.waitFor("Passcode: ")
            #expect(console.shows("No sign is set."))
            console.type("\u{3}")
            #expect(asking.wait() == .cancelled)
        }

        @Test func `a sign that cannot be read is no place`() throws {
            let asking = try ask(prompter(Owners(isReadable: false)), PromptQuestion.passcode.atTrustedPlace)
            #expect(asking.wait() == .unavailable(.placeRefused(.signUnreadable)))
            #expect(active == [0, 2])
            try eventually("no helper is left") { helper.helpers().isEmpty }
        }

        @Test func `keys that were typed before the console came are dropped`() throws {
            console.type("early\r")
            let asking = try ask(prompter(), PromptQuestion.passcode.atTrustedPlace)
            console.waitFor("Passcode: ")
            console.type("late\r")
            #expect(asking.wait() == .entered("late", .passcode))
        }

        @Test func `a switch to another console ends the question, and that console stays`() throws {
            let asking = try ask(prompter(), PromptQuestion.passcode.atTrustedPlace)
            console.waitFor("Passcode: ")
            console.type("half")
            try Self.activate(3, activePath)
            #expect(asking.wait() == .interrupted(.switchedAway))
            #expect(active == [0, 3] && !isFormerKept)
        }

        @Test func `after a kill the service manager's last act brings the former console back`() throws {
            let asking = try ask(prompter(), PromptQuestion.passcode.atTrustedPlace)
            console.waitFor("Passcode: ")
            for processID in helper.helpers() { kill(processID, SIGKILL) }
            #expect(asking.wait() == .interrupted(.promptEnded))
            #expect(active == [0, 8] && isFormerKept)
            #expect(try SpawnedProcess(Build.prompt, arguments + ["--leave-place"]).wait() == .exited(0))
            #expect(active == [0, 2] && !isFormerKept)
        }

        @Test func `the last act leaves a console alone that somebody switched to`() throws {
            try Data([0, 2]).write(to: URL(fileURLWithPath: formerPath))
            try Self.activate(5, activePath)
            #expect(try SpawnedProcess(Build.prompt, arguments + ["--leave-place"]).wait() == .exited(0))
            #expect(active == [0, 5] && !isFormerKept)
        }

        @Test func `a cancel takes the question away`() throws {
            let asking = try ask(prompter(), PromptQuestion.passcode.atTrustedPlace)
            console.waitFor("Passcode: ")
            asking.cancellation.cancel(because: .clientGone)
            #expect(asking.wait() == .interrupted(.clientGone))
            try eventually("the former console is back") { active == [0, 2] && helper.helpers().isEmpty }
        }

        @Test func `without its service the place is not reached`() throws {
            helper.stopListening()
            let asking = try ask(prompter(), PromptQuestion.passcode.atTrustedPlace)
            #expect(asking.wait() == .unavailable(.placeRefused(.notReached)))
        }

        @Test func `a console on which another program draws is no place, and shows no sign`() throws {
            try Data().write(to: URL(fileURLWithPath: activePath + ".taken"))
            let asking = try ask(prompter(), PromptQuestion.passcode.atTrustedPlace)
            #expect(asking.wait() == .unavailable(.placeRefused(.notReached)))
            try eventually("the former console is back") { active == [0, 2] && !isFormerKept }
            #expect(!console.shows("otter") && !console.shows("Passcode"))
        }

        @Test func `a sign is typed where it is seen, and is for nothing else`() throws {
            let question = PromptQuestion(.newSign, operation: DisplayText("set your sign")).atTrustedPlace
            let asking = try ask(prompter(), question)
            console.waitFor("New sign: ")
            console.type("amber otter 48\r")
            #expect(asking.wait() == .entered("amber otter 48", .sign))
            #expect(console.shows("amber otter 48"))
        }

        @Test func `two owners wait for the one place, one after the other`() throws {
            let queue = PromptQueue(prompter())
            func caller(_ owner: UInt8) throws -> PromptCaller {
                try process.caller(callerTerminal.slave, owner: .numbered(owner))
            }
            let first = try Asking(queue, PromptQuestion.passcode.atTrustedPlace, on: caller(1))
            console.waitFor("Passcode: ")
            let second = try Asking(queue, PromptQuestion.passcode.atTrustedPlace, on: caller(2))
            try eventually("the second waits") { queue.waitingCount == 1 }
            console.clearScreen()
            console.type("first\r")
            #expect(first.wait() == .entered("first", .passcode))
            console.waitFor("Passcode: ")
            console.type("second\r")
            #expect(second.wait() == .entered("second", .passcode))
        }
    }
}
