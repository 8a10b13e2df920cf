import FingerprintReader
import FingerprintTestSupport
import Foundation
import Glibc
import TerminalTestSupport
import Testing

/// `ostiary-fingerprint` enrols, lists and deletes on the real fprintd, as a process.
@Suite(.timeLimit(.minutes(10))) struct ProgramEnrollmentTests {
    let stack: FingerprintStack

    init() throws { stack = try FingerprintStack() }

    private func run(_ arguments: String...) throws -> FingerprintProgram {
        try FingerprintProgram(arguments, on: stack)
    }

    private func fingers() throws -> [Finger] {
        switch stack.fingerprintReader().state() {
        case .ready(_, let fingers): fingers.sorted { $0.rawValue < $1.rawValue }
        case .nothingEnrolled: []
        case .unusable(let failure): throw failure
        }
    }

    // MARK: enroll

    @Test func `programs are told each touch, and the result last`() throws {
        let program = try run("enroll", "--json", "--", "left-thumb")
        try program.waitFor("armed")
        for number in 1...4 {
            try stack.play(.touch("owner"))
            try program.waitFor("touch", count: number)
        }
        try stack.play(.touch("owner"))
        #expect(try program.wait() == .exited(0))
        let lines = program.lines()
        #expect(lines.first?.event == "armed" && lines.first?.finger == "left-thumb")
        #expect(lines.first?.touches == 0)
        let touches = lines.filter { $0.event == "touch" }
        #expect(touches.prefix(4).compactMap(\.touches) == [1, 2, 3, 4])
        #expect(touches.allSatisfy { $0.touchCount == 5 && $0.finger == "left-thumb" })
        #expect(lines.last?.result == "enrolled" && lines.last?.fingers == ["left-thumb"])
        #expect(lines.last?.reader == .init(name: "Virtual device for debugging", scanType: "swipe"))
        #expect(lines.dropLast().allSatisfy { $0.result == nil && $0.message?.isEmpty == false })
        #expect(program.words == "")
        #expect(try fingers() == [.leftThumb])
    }

    @Test func `people are told what to do, and what a bad touch lacked, on standard error`() throws {
        let program = try run("enroll", "left-thumb")
        try program.waitForWords("Swipe your left thumb over the fingerprint reader 5 times. Lift it after each touch.")
        let hints = [
            (1, "That was too short. Swipe your finger more slowly."),
            (2, "Move your finger to the middle of the reader."),
            (3, "Clean the reader, and try again."),
        ]
        for (reason, words) in hints {
            try stack.play(.badTouch(reason))
            try program.waitForWords(words)
        }
        for number in 1...4 {
            try stack.play(.touch("owner"))
            try program.waitForWords("Good: \(number) of 5.")
        }
        try stack.play(.touch("owner"))
        #expect(try program.wait() == .exited(0))
        #expect(program.words.contains("Enrolled: left thumb. Ostiary uses fingers again after you have entered"))
        #expect(program.text == "")
    }

    @Test func `a finger that is enrolled already is enrolled again only if that is said`() throws {
        try stack.enroll(.rightIndex, skin: "first")
        let refused = try run("enroll", "--json").failure()
        #expect(refused.ending == .exited(1))
        #expect(refused.error.code == -128 && refused.error.name == "fingerAlreadyEnrolled")
        #expect(refused.error.message.contains("--replace"))
        let program = try run("enroll", "--replace", "--json", "right-index-finger")
        for number in 0...4 {
            if number == 0 { try program.waitFor("armed") } else { try program.waitFor("touch", count: number) }
            try stack.play(.touch("second"))
        }
        #expect(try program.wait() == .exited(0))
        #expect(try fingers() == [.rightIndex])
    }

    @Test func `the same finger under another name is a duplicate`() throws {
        let stack = try FingerprintStack([.identifying])
        try stack.enroll(.rightIndex, skin: "owner", at: .identifying)
        let program = try FingerprintProgram(["enroll", "--json", "left-index-finger"], on: stack)
        try program.waitFor("armed")
        try stack.play(.touch("owner"), at: .identifying)
        let refused = try program.failure()
        #expect(refused.ending == .exited(1))
        #expect(refused.error.code == -129 && refused.error.name == "fingerDuplicate")
    }

    @Test func `a reader without room says so`() throws {
        let program = try run("enroll", "--json")
        try program.waitFor("armed")
        // FP_DEVICE_ERROR_DATA_FULL.
        try stack.play(.fault(8))
        let refused = try program.failure()
        #expect(refused.ending == .exited(1))
        #expect(refused.error.code == -130 && refused.error.name == "readerFull")
        #expect(try fingers() == [])
    }

    // MARK: list and delete

    @Test func `list names the reader and the fingers`() throws {
        let none = try run("list")
        #expect(try none.wait() == .exited(0))
        #expect(none.text == "Virtual device for debugging. No finger is enrolled.\n")
        try stack.enroll(.rightIndex, skin: "owner")
        let people = try run("list")
        #expect(try people.wait() == .exited(0))
        #expect(people.text == "Virtual device for debugging. Enrolled: right index finger.\n")
        let programs = try run("list", "--json")
        #expect(try programs.wait() == .exited(0))
        #expect(programs.lines().count == 1)
        #expect(programs.lines().first?.result == "listed")
        #expect(programs.lines().first?.fingers == ["right-index-finger"])
    }

    @Test func `one finger is deleted, or all of them`() throws {
        for finger in [Finger.rightIndex, .leftThumb, .leftRing] { try stack.enroll(finger, skin: finger.rawValue) }
        let one = try run("delete", "left-thumb")
        #expect(try one.wait() == .exited(0))
        #expect(one.words.hasPrefix("Deleted: left thumb.\nOstiary uses fingers again after"))
        #expect(one.text == "")
        #expect(try fingers() == [.leftRing, .rightIndex])
        let all = try run("delete", "--all", "--json")
        #expect(try all.wait() == .exited(0))
        #expect(Set(all.lines().compactMap(\.finger)) == ["left-ring-finger", "right-index-finger"])
        #expect(all.lines().last?.result == "deleted" && all.lines().last?.fingers?.count == 2)
        #expect(try fingers() == [])
    }

    @Test(arguments: [["delete", "left-thumb"], ["delete", "--all"], ["verify"], ["verify", "left-thumb"]])
    func `what is not enrolled cannot be deleted or verified`(arguments: [String]) throws {
        if arguments.last == "left-thumb" { try stack.enroll(.rightIndex, skin: "owner") }
        let before = try fingers()
        let refused = try FingerprintProgram(arguments + ["--json"], on: stack).failure()
        #expect(refused.ending == .exited(1))
        #expect(refused.error.code == -127 && refused.error.name == "fingerNotEnrolled")
        #expect(refused.error.message.contains("`ostiary fingerprint enroll`"))
        #expect(try fingers() == before)
    }

    @Test(arguments: [
        ["enroll", String(repeating: "p", count: 3000)], ["verify", "left"], ["delete"], ["list", "left-thumb"],
        ["delete", "--all", "left-thumb"], ["enrol"], [],
    ])
    func `wrong usage touches no reader`(arguments: [String]) throws {
        let refused = try FingerprintProgram(arguments + ["--json"], on: stack).failure()
        #expect(refused.ending == .exited(2))
        #expect(refused.error.code == -100 && refused.error.name == "usage")
        #expect(!refused.error.message.contains("pppp"))
    }
}
