import FingerprintReader
import FingerprintTestSupport
import Foundation
import Glibc
import StoreTestSupport
import SystemBusTestSupport
import TerminalTestSupport
import Testing

/// `ostiary-fingerprint` verifies, and what it says when that or an enrolment fails. The reader is free afterwards.
@Suite(.timeLimit(.minutes(10))) struct ProgramFaultTests {
    let stack: FingerprintStack

    init() throws {
        stack = try FingerprintStack()
        try stack.enroll(.rightIndex, skin: "owner")
    }

    /// An action that waits for a touch.
    enum Waiting: String, CaseIterable {
        case enroll, verify

        var arguments: [String] { self == .enroll ? ["enroll", "--json", "left-thumb"] : ["verify", "--json"] }
    }

    private func waiting(_ action: Waiting) throws -> FingerprintProgram {
        let program = try FingerprintProgram(action.arguments, on: stack)
        try program.waitFor("armed")
        return program
    }

    private func expect(
        _ program: FingerprintProgram, _ code: Int, _ name: String, status: CInt = 1, says words: String,
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let refused = try program.failure()
        #expect(refused.ending == .exited(status), sourceLocation: location)
        #expect(refused.error.code == code && refused.error.name == name, sourceLocation: location)
        #expect(refused.error.message.contains(words), "\(refused.error.message)", sourceLocation: location)
        #expect(program.lines().allSatisfy { $0.result == nil }, sourceLocation: location)
    }

    private func expectOnlyOwner(_ location: SourceLocation = #_sourceLocation) throws {
        try stack.waitUntilFree()
        #expect(try !stack.isArmed(), sourceLocation: location)
        guard case .ready(_, [.rightIndex]) = stack.fingerprintReader().state() else {
            Issue.record("another set", sourceLocation: location)
            return
        }
    }

    // MARK: verify

    @Test func `a match and a miss have statuses and results of their own`() throws {
        let match = try waiting(.verify)
        try stack.play(.touch("owner"))
        #expect(try match.wait() == .exited(0))
        #expect(match.lines().last?.result == "match")
        #expect(match.lines().contains { $0.event == "expects" && $0.finger == "right-index-finger" })
        let miss = try waiting(.verify)
        try stack.play(.touch("stranger"))
        #expect(try miss.wait() == .exited(1))
        #expect(miss.lines().last?.result == "no-match" && miss.words == "")
        let people = try FingerprintProgram(["verify", "right-index-finger"], on: stack)
        try people.waitForWords("Swipe your finger over the fingerprint reader.")
        try stack.play(.badTouch(2))
        try people.waitForWords("Move your finger to the middle of the reader.")
        try stack.play(.touch("owner"))
        #expect(try people.wait() == .exited(0))
        #expect(people.text == "The reader recognised the finger. This was a test and opened nothing.\n")
        try expectOnlyOwner()
    }

    // MARK: signals

    @Test(arguments: Waiting.allCases, [SIGINT, SIGTERM, SIGHUP, SIGQUIT])
    func `a signal gives the reader back, and then ends the program`(action: Waiting, number: CInt) throws {
        let program = try waiting(action)
        if action == .enroll {
            try stack.play(.touch("other"))
            try program.waitFor("touch")
        }
        program.process.signal(number)
        guard case .killed(number, _) = try program.wait() else {
            Issue.record("it ended otherwise")
            return
        }
        // At once, not when fprintd has noticed the end of the connection.
        try stack.claimOnce()
        try expectOnlyOwner()
        #expect(program.lines().allSatisfy { $0.result == nil })
    }

    @Test func `people are told that nothing was enrolled`() throws {
        let program = try FingerprintProgram(["enroll", "left-thumb"], on: stack)
        try program.waitForWords("Swipe your left thumb")
        program.process.signal(SIGINT)
        #expect(try program.wait() == .killed(signal: SIGINT, leftCore: false))
        #expect(program.words.hasSuffix("Stopped; no finger was enrolled.\n"))
    }

    @Test(arguments: Waiting.allCases) func `a killed program leaves the reader free`(action: Waiting) throws {
        let program = try waiting(action)
        program.process.end()
        try expectOnlyOwner()
    }

    // MARK: the reader

    @Test(arguments: Waiting.allCases) func `a reader that another program holds is busy`(action: Waiting) throws {
        let other = try FingerprintAsker(.hold, on: stack.bus)
        try other.waitFor("held")
        let program = try FingerprintProgram(action.arguments, on: stack)
        try expect(program, -123, "readerBusy", says: "Another program uses the fingerprint reader.")
        other.kill()
        try expectOnlyOwner()
    }

    @Test(arguments: Waiting.allCases) func `a reader that is unplugged is said to be`(action: Waiting) throws {
        let program = try waiting(action)
        try stack.play(.unplug)
        try expect(program, -124, "readerDisconnected", says: "The fingerprint reader was unplugged.")
        let next = try FingerprintProgram(action.arguments, on: stack)
        try expect(next, -120, "readerMissing", says: "No fingerprint reader is connected. Connect a reader")
    }

    @Test func `a reader that fails is said to have failed`() throws {
        let program = try waiting(.verify)
        try stack.play(.fault(0))
        try expect(program, -125, "readerFault", says: "The fingerprint reader failed")
        try expectOnlyOwner()
    }

    // MARK: the service

    @Test(arguments: Waiting.allCases) func `fprintd that is killed meanwhile is said to have ended`(action: Waiting)
        throws
    {
        let program = try waiting(action)
        try stack.killService()
        try expect(program, -122, "fingerprintServiceEnded", says: "journalctl -u fprintd.service")
        let next = try FingerprintProgram(action.arguments, on: stack)
        try expect(next, -121, "fingerprintServiceUnavailable", says: "not installed. Install fprintd")
        try stack.startService()
        try expectOnlyOwner()
    }

    @Test func `no bus, and fprintd that does not start, have words of their own`() throws {
        let without = try FingerprintProgram(["list", "--json"], at: "/nowhere/bus")
        try expect(without, -121, "fingerprintServiceUnavailable", says: "There is no system bus")
        let folder = try TestFolder()
        try FingerprintProgram.writeBrokenService(in: folder)
        let bus = try PrivateBus(servicesFolder: folder.path)
        let broken = try FingerprintProgram(["list", "--json"], at: bus.path)
        try expect(broken, -121, "fingerprintServiceUnavailable", says: "is installed and does not start. `systemctl")
    }

    @Test(
        .enabled(if: getuid() == 0, "only root can be another user"),
        arguments: [["list"], ["enroll"], ["verify"], ["delete", "left-thumb"]])
    func `what polkit refuses is denied`(arguments: [String]) throws {
        let program = try FingerprintProgram(arguments + ["--json"], on: stack, asUser: 1)
        try expect(program, -126, "fingerprintDenied", status: 3, says: "your session must be active at this machine")
        #expect(program.words.contains("sudo fprintd-enroll USER") == ["enroll", "delete"].contains(arguments[0]))
        try expectOnlyOwner()
    }
}

extension FingerprintProgram {
    /// A service file of an fprintd that ends at once.
    static func writeBrokenService(in folder: TestFolder) throws {
        let text = "[D-BUS Service]\nName=net.reactivated.Fprint\nExec=/bin/false\n"
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path("fprint.service")))
    }
}
