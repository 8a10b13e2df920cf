import FingerprintTestSupport
import Glibc
import Testing

@testable import FingerprintReader

/// Several programs want the reader.
@Suite(.timeLimit(.minutes(10))) struct SharingTests {
    let stack: FingerprintStack
    let reader: FingerprintReader

    init() throws {
        stack = try FingerprintStack()
        reader = stack.fingerprintReader()
        try stack.enroll(.rightIndex, skin: "owner")
    }

    @Test func `a reader that another program holds is busy, until that program is killed`() throws {
        let other = try FingerprintAsker(.hold, on: stack.bus)
        try other.waitFor("held")
        #expect(throws: ReaderFailure.busy) { try reader.verify { _ in Issue.record("armed") } }
        other.kill()
        try stack.waitUntilFree()
        #expect(try reader.verify { if $0 == .armed { try stack.play(.touch("owner")) } } == .match)
    }

    @Test func `of two programs that ask at once, one gets the touch and the other is told that it is busy`() throws {
        let result = try reader.verify { event in
            guard event == .armed else { return }
            let said = try FingerprintAsker(.verify, on: stack.bus).run()
            #expect(said == ["busy"])
            try stack.play(.touch("owner"))
        }
        #expect(result == .match)
        let other = try FingerprintAsker(.verify, on: stack.bus)
        try other.waitFor("armed")
        try stack.play(.touch("owner"))
        #expect(try other.run().last == "match")
    }

    @Test func `a program that is killed while the reader waits leaves it disarmed and free`() throws {
        let other = try FingerprintAsker(.verify, on: stack.bus)
        try other.waitFor("armed")
        #expect(try stack.isArmed())
        other.kill()
        try stack.waitUntilFree()
        #expect(try !stack.isArmed())
        #expect(try reader.verify { if $0 == .armed { try stack.play(.touch("stranger")) } } == .noMatch)
    }

    @Test func `a finger cannot be enrolled or deleted by another program during a verification`() throws {
        let result = try reader.verify { event in
            guard event == .armed else { return }
            #expect(throws: ReaderFailure.busy) { try stack.enroll(.rightIndex, skin: "stranger") }
            try stack.play(.touch("stranger"))
        }
        #expect(result == .noMatch)
    }

    @Test(
        .enabled(if: getuid() == 0, "only root can be another user"),
        arguments: [FingerprintAsker.Command.state, .verify])
    func `a program that polkit refuses is denied`(command: FingerprintAsker.Command) throws {
        let said = try FingerprintAsker(command, on: stack.bus, asUser: 1).run()
        #expect(said == ["denied"])
    }
}
