import Foundation
import Glibc
import HelperProcesses
import ProcessFacts
import StoreTestSupport
import Synchronization
import TerminalTestSupport
import Testing
import UnixSocket

@testable import IdentityFacts

/// An answer to a look at some process, with its faults.
struct PlayedAnswer {
    var bytes = [UInt8](repeating: 0, count: 100)
    var path = Array("/usr/bin/tool".utf8)
    var serial = "SSSSSSSS"

    init(_ change: (inout PlayedAnswer) -> Void = { _ in }) {
        bytes[0] = 0x69
        (bytes[15], bytes[23], bytes[27]) = (8, 100, 1)
        bytes[77] = UInt8(path.count)
        change(&self)
    }

    var hexadecimal: String {
        func text(_ bytes: some Sequence<UInt8>) -> String {
            bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        }
        return text(bytes[..<4]) + serial + text(bytes[8...]) + text(path)
    }
}

@Suite("A helper that fails", .timeLimit(.minutes(10)))
struct HelperFailureTests {
    private static var short: IdentityFacts.IdentityHelper.Patience {
        var patience = IdentityFacts.IdentityHelper.Patience()
        (patience.turn, patience.greeting, patience.answer) = (.seconds(1), .seconds(1), .milliseconds(500))
        return patience
    }

    private func executable(_ helper: RunningHelper) throws -> ExecutedFile {
        try withExtendedLifetime(helper) {
            try helper.facts(patience: Self.short).hold(getpid()).executable()
        }
    }

    @Test func `an answer of the right form is taken`() throws {
        let helper = try RunningHelper(false: ["answer", PlayedAnswer().hexadecimal])
        #expect(try executable(helper) == ExecutedFile(device: 8, inode: 100))
    }

    private static let nonsense: [PlayedAnswer] = [
        PlayedAnswer { $0.bytes[0] = 0x6E },
        PlayedAnswer { $0.bytes[0] = 0x49 },
        PlayedAnswer { $0.serial = "00000000" },
        PlayedAnswer { $0.bytes[1] = 4 },
        PlayedAnswer { $0.bytes[1] = 1 },  // a failure with a path behind it
        PlayedAnswer { ($0.bytes[1], $0.path) = (1, []) },  // a failure with numbers
        PlayedAnswer { $0.bytes[2] = 1 },  // a descriptor is announced, and none comes
        PlayedAnswer { $0.bytes[2] = 8 },
        PlayedAnswer { $0.bytes[3] = 4 },
        PlayedAnswer { $0.bytes[95] = 1 },  // a login that is not announced
        PlayedAnswer { $0.bytes[91] = 1 },  // a group that is not announced
        PlayedAnswer { $0.bytes[99] = 1 },  // a real user who is not announced
        PlayedAnswer { $0.bytes[78] = 1 },
        PlayedAnswer { $0.path = [] },
        PlayedAnswer { $0.path += Array("x".utf8) },
        PlayedAnswer { $0.path[3] = 0 },
        PlayedAnswer { $0.bytes.removeLast(60) },
        PlayedAnswer {
            $0.path = [UInt8](repeating: 0x61, count: 4096)
            ($0.bytes[76], $0.bytes[77]) = (16, 0)
        },
    ]

    @Test(arguments: nonsense.indices) func `an answer of another form says nothing`(index: Int) throws {
        let helper = try RunningHelper(false: ["answer", Self.nonsense[index].hexadecimal])
        #expect(throws: FactFailure.unreadable) { try executable(helper) }
    }

    @Test(arguments: [1, 3]) func `descriptors that were not announced say nothing`(count: Int) throws {
        let helper = try RunningHelper(false: ["answer", PlayedAnswer().hexadecimal, "\(count)"])
        #expect(throws: FactFailure.unreadable) { try executable(helper) }
    }

    @Test(arguments: [FactFailure.absent, .unreadable, .refused])
    func `the helper's own failures keep their meaning`(failure: FactFailure) throws {
        let answer = PlayedAnswer {
            $0.bytes = [UInt8](repeating: 0, count: 100)
            ($0.bytes[0], $0.bytes[1], $0.path) = (0x69, failure.rawValue, [])
        }
        let helper = try RunningHelper(false: ["answer", answer.hexadecimal])
        #expect(throws: failure) { try executable(helper) }
    }

    @Test(arguments: ["hang", "die", "silent"]) func `a helper without an answer says nothing, within its time`(
        mode: String
    ) throws {
        let helper = try RunningHelper(false: [mode])
        let begin = ContinuousClock.now
        #expect(throws: FactFailure.unreadable) { try executable(helper) }
        #expect(ContinuousClock.now - begin < .seconds(5))
    }

    /// Each user could otherwise stop the looks of all others, with one process after the other.
    @Test func `the processes of a user who held the helper up are not looked at for a while`() throws {
        let helper = try RunningHelper(false: ["hang"])
        let facts = helper.facts(patience: Self.short)
        #expect(throws: FactFailure.unreadable) { try facts.hold(getpid()).executable() }
        let other = try SpawnedProcess("/bin/sleep", ["600"])
        let begin = ContinuousClock.now
        for _ in 0..<20 {
            #expect(throws: FactFailure.unreadable) { try facts.hold(other.processID).executable() }
        }
        #expect(ContinuousClock.now - begin < Self.short.answer, "the helper was not asked")
        withExtendedLifetime(helper) {}
    }

    /// As below `hidepid`, where no folder shows the daemon whose it is.
    @Test func `where the process is hidden, the user who connected is the one who held the helper up`() throws {
        let helper = try RunningHelper(false: ["hang"])
        let facts = HelperFacts(
            IdentityFacts.IdentityHelper(helper.socket, patience: Self.short, seeing: { _ in nil }),
            freshness: .seconds(1))
        #expect(throws: FactFailure.unreadable) { try facts.hold(getpid(), nil, of: 1000).executable() }
        let other = try SpawnedProcess("/bin/sleep", ["600"])
        let begin = ContinuousClock.now
        for _ in 0..<20 {
            #expect(throws: FactFailure.unreadable) { try facts.hold(other.processID, nil, of: 1000).executable() }
        }
        #expect(ContinuousClock.now - begin < Self.short.answer, "the helper was not asked")
        let others = ContinuousClock.now
        #expect(throws: FactFailure.unreadable) { try facts.hold(other.processID, nil, of: 1001).executable() }
        #expect(ContinuousClock.now - others >= Self.short.answer, "another user's process is looked at")
        withExtendedLifetime(helper) {}
    }

    /// Whose folder answers nobody but the helper.
    private func hiddenProcess(_ answer: PlayedAnswer, _ folder: TestFolder) throws -> (RunningHelper, HelpedProcess) {
        try FileManager.default.createDirectory(
            atPath: folder.path("\(getpid())"), withIntermediateDirectories: false)
        let helper = try RunningHelper(false: ["answer", answer.hexadecimal])
        let hidden = try ProcessFolder(of: getpid(), nil, below: folder.path)
        return (helper, HelpedProcess(hidden, of: nil, helper.helper, MachineMounts(), freshness: .seconds(1)))
    }

    @Test func `the helper tells the real user and the real group of a hidden process`() throws {
        let folder = try TestFolder()
        let answer = PlayedAnswer { ($0.bytes[3], $0.bytes[91], $0.bytes[99]) = (1, 7, 9) }
        let (helper, process) = try hiddenProcess(answer, folder)
        #expect(try process.realGroupID() == 7)
        #expect(try process.realUserID() == 9)
        withExtendedLifetime(helper) {}
    }

    @Test func `a real user whom neither the daemon nor the helper may read is refused, and is not root`() throws {
        let folder = try TestFolder()
        let (helper, process) = try hiddenProcess(PlayedAnswer(), folder)
        #expect(throws: FactFailure.refused) { try process.realUserID() }
        withExtendedLifetime(helper) {}
    }

    @Test(
        .enabled(if: ProcessFolder.keepsLogins, "the kernel keeps no logins"),
        arguments: [(1000, 1000), (.max, nil)] as [(UInt32, UInt32?)])
    func `the helper tells whose login began a hidden process`(number: UInt32, userID: UInt32?) throws {
        let folder = try TestFolder()
        let answer = PlayedAnswer {
            $0.bytes[3] = 2
            for index in 0..<4 { $0.bytes[92 + index] = UInt8(truncatingIfNeeded: number >> (24 - 8 * index)) }
        }
        let (helper, process) = try hiddenProcess(answer, folder)
        #expect(try process.loginUserID() == userID)
        withExtendedLifetime(helper) {}
    }

    @Test(.enabled(if: ProcessFolder.keepsLogins, "the kernel keeps no logins"))
    func `a login that neither the daemon nor the helper may read is refused, and is not none`() throws {
        let folder = try TestFolder()
        let (helper, process) = try hiddenProcess(PlayedAnswer(), folder)
        #expect(throws: FactFailure.refused) { try process.loginUserID() }
        withExtendedLifetime(helper) {}
    }

    @Test(arguments: [HoldUps.Work.look, .search])
    func `a pause is longer each time, up to a minute, and is forgiven`(work: HoldUps.Work) {
        var holdUps = HoldUps()
        var now = ContinuousClock.now
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            holdUps.note(work, of: 1000, at: now)
            #expect(holdUps.isPaused(work, of: 1000, at: now + .seconds(seconds) - .milliseconds(1)))
            #expect(!holdUps.isPaused(work, of: 1001, at: now))
            now += .seconds(seconds)
            #expect(!holdUps.isPaused(work, of: 1000, at: now))
        }
        now += HoldUps.memory
        holdUps.note(work, of: 1000, at: now)
        #expect(!holdUps.isPaused(work, of: 1000, at: now + .seconds(1)))
    }

    @Test func `without a helper nothing is known`() throws {
        let folder = try TestFolder()
        let socket = HelperSocket(path: folder.path("socket"), helperUserID: getuid(), managerUserID: getuid())
        let facts = HelperFacts(IdentityFacts.IdentityHelper(socket))
        let held = try facts.hold(getpid())
        #expect(throws: FactFailure.unreadable) { try held.executable() }
        #expect(throws: FactFailure.unreadable) { try held.executes(ExecutedFile(device: 1, inode: 1)) }
        // Nobody else is asked for these. A session whose leader lies outside of a container has the number 0.
        #expect(try held.status().session == getsid(0))
    }

    @Test func `a helper of another account is asked nothing`() throws {
        let helper = try RunningHelper(isConfined: false)
        let socket = HelperSocket(path: helper.socket.path, helperUserID: getuid() + 1, managerUserID: getuid())
        try withExtendedLifetime(helper) {
            let held = try HelperFacts(IdentityFacts.IdentityHelper(socket)).hold(getpid())
            #expect(throws: FactFailure.unreadable) { try held.executable() }
        }
    }

    @Test func `threads that wait behind a helper that hangs are told within their time`() throws {
        let helper = try RunningHelper(false: ["hang"])
        let facts = helper.facts(patience: Self.short)
        let begin = ContinuousClock.now
        let ends = Finished()
        for _ in 0..<8 {
            Thread.detachNewThread {
                do throws(FactFailure) {
                    _ = try facts.hold(getpid()).executable()
                    ends.add(false)
                } catch { ends.add(error == .unreadable) }
            }
        }
        try eventually("all were told") { ends.count == 8 }
        #expect(ends.areAllTrue)
        // A turn, a greeting and an answer, and time for a busy machine.
        #expect(ContinuousClock.now - begin < .seconds(10))
        withExtendedLifetime(helper) {}
    }

    @Test func `a helper that was started again is asked the same question`() throws {
        let helper = try RunningHelper()
        let facts = helper.facts()
        let held = try facts.hold(getpid())
        let file = try held.executable()
        for _ in 0..<3 {
            let process = try #require(helper.process)
            kill(process, SIGKILL)
            try eventually("it has ended") { helper.process != process }
            #expect(try held.executes(file, wholly: true))
        }
        withExtendedLifetime(helper) {}
    }
}

private final class Finished: Sendable {
    private let results = Mutex<[Bool]>([])

    func add(_ result: Bool) { results.withLock { $0.append(result) } }

    var count: Int { results.withLock { $0.count } }
    var areAllTrue: Bool { results.withLock { $0.allSatisfy { $0 } } }
}
