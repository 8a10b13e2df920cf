import Testing

@testable import Passcodes

@Suite struct AttemptLimiterTests {
    private static let boot = BootIdentifier([UInt8](repeating: 1, count: 16))!
    private static let laterBoot = BootIdentifier([UInt8](repeating: 2, count: 16))!

    private func moment(_ seconds: Int, _ boot: BootIdentifier = boot) -> BootMoment {
        BootMoment(bootIdentifier: boot, time: .seconds(seconds))
    }

    /// The state after `count` failures, each begun as soon as it was allowed, and the second of the last one.
    private func state(failures count: Int) -> (state: AttemptState, second: Int) {
        var (state, second) = (AttemptState.initial, 100)
        for _ in 0..<count {
            switch AttemptLimiter.beginAttempt(state, at: moment(second)) {
            case .allowed(let next): state = next
            case .lockedOut(let remaining, _):
                second += Int(remaining.components.seconds)
                guard case .allowed(let next) = AttemptLimiter.beginAttempt(state, at: moment(second)) else {
                    Issue.record("a wait that is over still locks")
                    return (state, second)
                }
                state = next
            }
        }
        return (state, second)
    }

    static let minutes: [(Int, Int)] = [
        (0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 1), (6, 5), (7, 15), (8, 60), (9, 180), (10, 480), (11, 480),
        (25, 480),
    ]

    @Test(arguments: minutes)
    func `each failure brings its wait`(_ failures: Int, _ minutes: Int) {
        let (state, second) = state(failures: failures)
        #expect(state.failedCount == UInt32(failures))
        #expect(state.delay == .seconds(minutes * 60))
        let decision = AttemptLimiter.beginAttempt(state, at: moment(second))
        if minutes == 0 {
            guard case .allowed(let next) = decision else { Issue.record("a free attempt is refused"); return }
            #expect(next.failedCount == UInt32(failures + 1))
        } else {
            #expect(decision == .lockedOut(remaining: .seconds(minutes * 60), state))
        }
    }

    @Test func `an attempt counts as failed before it is checked`() {
        guard case .allowed(let begun) = AttemptLimiter.beginAttempt(.initial, at: moment(0)) else {
            Issue.record("the first attempt is refused")
            return
        }
        #expect(begun.failedCount == 1)
    }

    @Test func `success forgets all failures`() {
        #expect(AttemptLimiter.succeeded() == .initial)
        #expect(AttemptState.initial.failedCount == 0)
    }

    @Test func `the wait ends at its deadline and not a nanosecond before`() {
        let (state, second) = state(failures: 5)
        let deadline = Duration.seconds(second + 60)
        let before = BootMoment(bootIdentifier: Self.boot, time: deadline - .nanoseconds(1))
        guard case .lockedOut(let remaining, _) = AttemptLimiter.beginAttempt(state, at: before) else {
            Issue.record("allowed too early")
            return
        }
        #expect(remaining == .nanoseconds(1))
        let end = BootMoment(bootIdentifier: Self.boot, time: deadline)
        guard case .allowed(let next) = AttemptLimiter.beginAttempt(state, at: end) else {
            Issue.record("refused after the wait")
            return
        }
        #expect(next.delay == .seconds(300))
    }

    @Test func `asking during a wait does not prolong it`() {
        let (state, second) = state(failures: 6)
        guard case .lockedOut(_, let stored) = AttemptLimiter.beginAttempt(state, at: moment(second + 200)) else {
            Issue.record("allowed during the wait")
            return
        }
        #expect(stored.failedCount == 6)
        guard case .lockedOut(let remaining, _) = AttemptLimiter.beginAttempt(stored, at: moment(second + 299)) else {
            Issue.record("allowed during the wait")
            return
        }
        #expect(remaining == .seconds(1))
    }

    @Test(arguments: [0, 1, 1_000_000])
    func `a reboot restarts the whole wait, whatever its clock says`(_ second: Int) {
        let (state, last) = state(failures: 7)
        guard case .lockedOut(_, let stored) = AttemptLimiter.beginAttempt(state, at: moment(last + 899)),
            case .lockedOut(let remaining, let restarted) = AttemptLimiter.beginAttempt(
                stored, at: moment(second, Self.laterBoot))
        else {
            Issue.record("allowed during the wait")
            return
        }
        #expect(remaining == .seconds(900))
        guard
            case .lockedOut(let later, _) = AttemptLimiter.beginAttempt(
                restarted, at: moment(second + 100, Self.laterBoot))
        else {
            Issue.record("allowed during the wait")
            return
        }
        #expect(later == .seconds(800))
    }

    @Test func `each reboot restarts the wait again`() {
        var (state, _) = state(failures: 5)
        for boot in UInt8(10)..<20 {
            let now = moment(59, BootIdentifier([UInt8](repeating: boot, count: 16))!)
            guard case .lockedOut(let remaining, let next) = AttemptLimiter.beginAttempt(state, at: now) else {
                Issue.record("a reboot shortened the wait")
                return
            }
            #expect(remaining == .seconds(60))
            state = next
        }
    }

    @Test func `a wait that was stored as over is not restarted by a reboot`() {
        let (state, second) = state(failures: 5)
        let settled = AttemptLimiter.settled(state, at: moment(second + 60))
        guard case .allowed = AttemptLimiter.beginAttempt(settled, at: moment(0, Self.laterBoot)) else {
            Issue.record("a wait that was over came back")
            return
        }
        let early = AttemptLimiter.settled(state, at: moment(second + 59))
        guard case .lockedOut(let remaining, _) = AttemptLimiter.beginAttempt(early, at: moment(0, Self.laterBoot))
        else {
            Issue.record("a wait that was not over is gone")
            return
        }
        #expect(remaining == .seconds(60))
    }

    @Test(arguments: [50, 99, 0, -1_000_000])
    func `a clock that goes back within one boot never shortens the wait`(_ second: Int) {
        let (state, last) = state(failures: 6)
        guard case .lockedOut(let stored, let next) = AttemptLimiter.beginAttempt(state, at: moment(last + 100)),
            case .lockedOut(let remaining, let after) = AttemptLimiter.beginAttempt(next, at: moment(second))
        else {
            Issue.record("allowed during the wait")
            return
        }
        #expect(remaining >= stored)
        #expect(remaining <= .seconds(300), "and it does not lock for longer than the delay")
        guard case .allowed = AttemptLimiter.beginAttempt(after, at: moment(second + 300)) else {
            Issue.record("the wait never ends")
            return
        }
    }

    @Test func `a settled state is stored when its wait began again or is over, not while it runs`() {
        let (state, second) = state(failures: 5)
        func mustStore(at now: BootMoment) -> Bool {
            AttemptLimiter.mustStore(AttemptLimiter.settled(state, at: now), insteadOf: state)
        }
        #expect(!mustStore(at: moment(second)))
        #expect(!mustStore(at: moment(second + 59)))
        #expect(mustStore(at: moment(second + 60)))
        #expect(mustStore(at: moment(second, Self.laterBoot)))
        #expect(mustStore(at: moment(second - 1)))
        let over = AttemptLimiter.settled(state, at: moment(second + 60))
        #expect(!AttemptLimiter.mustStore(AttemptLimiter.settled(over, at: moment(5, Self.laterBoot)), insteadOf: over))
        #expect(!AttemptLimiter.mustStore(.initial, insteadOf: .initial))
    }

    @Test func `the count does not wrap`() throws {
        let full = AttemptState(
            failedCount: .max, wait: .init(deadline: .zero, remaining: .zero, bootIdentifier: Self.boot))
        guard case .allowed(let next) = AttemptLimiter.beginAttempt(full, at: moment(0)) else {
            Issue.record("refused although the wait is over")
            return
        }
        #expect(next.failedCount == .max)
        #expect(next.delay == .seconds(28800))
    }

    @Test(arguments: [(0, 4), (1, 3), (4, 0), (5, 0), (30, 0)])
    func `free failures are counted down`(_ failures: Int, _ left: Int) {
        #expect(AttemptLimiter.freeFailures(after: state(failures: failures).state) == left)
    }
}

@Suite struct AttemptStateTests {
    private static let boot = BootIdentifier(Array(1...16))!
    private static let waiting = AttemptState(
        failedCount: 5, wait: .init(deadline: .seconds(160), remaining: .seconds(60), bootIdentifier: boot))

    @Test func `canonical bytes have the documented layout`() throws {
        #expect(AttemptState.initial.canonicalBytes == [1, 0, 0, 0, 0])
        let expected: [UInt8] =
            [1, 0, 0, 0, 5] + [0, 0, 0, 0x25, 0x40, 0xBE, 0x40, 0] + [0, 0, 0, 0x0D, 0xF8, 0x47, 0x58, 0]
            + Array(1...16)
        #expect(Self.waiting.canonicalBytes == expected)
        #expect(try AttemptState(canonicalBytes: expected) == Self.waiting)
    }

    @Test(arguments: [0, 1, 4]) func `a state without a wait survives`(_ count: UInt32) throws {
        let state = AttemptState(failedCount: count, wait: nil)
        #expect(try AttemptState(canonicalBytes: state.canonicalBytes) == state)
    }

    @Test func `every truncation and a trailing byte are malformed`() {
        for bytes in [AttemptState.initial.canonicalBytes, Self.waiting.canonicalBytes] {
            for count in 0..<bytes.count {
                #expect(throws: AttemptStateError.malformed) {
                    try AttemptState(canonicalBytes: Array(bytes[..<count]))
                }
            }
            #expect(throws: AttemptStateError.malformed) { try AttemptState(canonicalBytes: bytes + [0]) }
        }
    }

    @Test func `another version is refused`() {
        var bytes = AttemptState.initial.canonicalBytes
        bytes[0] = 2
        #expect(throws: AttemptStateError.unknownVersion) { try AttemptState(canonicalBytes: bytes) }
    }

    @Test func `five failures without a wait, and four with one, are malformed`() {
        #expect(throws: AttemptStateError.malformed) { try AttemptState(canonicalBytes: [1, 0, 0, 0, 5]) }
        var bytes = Self.waiting.canonicalBytes
        bytes[4] = 4
        #expect(throws: AttemptStateError.malformed) { try AttemptState(canonicalBytes: bytes) }
    }

    @Test func `a remainder over the delay and negative numbers are out of bounds`() {
        let over = AttemptState(
            failedCount: 5,
            wait: .init(deadline: .zero, remaining: .seconds(60) + .nanoseconds(1), bootIdentifier: Self.boot))
        #expect(throws: AttemptStateError.outOfBounds) { try AttemptState(canonicalBytes: over.canonicalBytes) }
        for index in [5, 13] {
            var bytes = Self.waiting.canonicalBytes
            bytes[index] = 0x80
            #expect(throws: AttemptStateError.outOfBounds) { try AttemptState(canonicalBytes: bytes) }
        }
    }
}

@Suite struct BootClockTests {
    @Test func `the system's clock goes forward within one boot`() throws {
        let clock = try SystemBootClock()
        let (first, second) = (clock.now(), clock.now())
        #expect(first.bootIdentifier == second.bootIdentifier)
        #expect(first.time <= second.time)
        #expect(first.time > .zero)
    }

    @Test(arguments: [("86400 0", 86_400, 0), ("-1 0", -1, 0), ("0 1", 0, 1)] as [(String, Int64, Int64)])
    func `a clock that a time namespace moves is refused`(_ offset: String, _ seconds: Int64, _ nanoseconds: Int64) {
        #expect(throws: BootClockError.shiftedTime(seconds: seconds, nanoseconds: nanoseconds)) {
            try TimeNamespace.requireMachineTime(offsets: "monotonic 0 0\nboottime \(offset)\n")
        }
    }

    @Test(arguments: [
        "monotonic           0         0\nboottime            0         0\n", "monotonic 5 5\nboottime 0 0",
    ])
    func `a boot clock that is not moved is taken`(_ offsets: String) {
        #expect(throws: Never.self) { try TimeNamespace.requireMachineTime(offsets: offsets) }
    }

    @Test(arguments: [
        "", "monotonic 0 0\n", "boottime\n", "boottime 0\n", "boottime 0 0 0\n", "boottime x 0\n", "boottime 0 -\n",
        "boottime 0 0\nboottime 0 0\n", "boottimes 0 0\n", "boottime 99999999999999999999 0\n",
    ])
    func `offsets that are not understood are refused`(_ offsets: String) {
        #expect(throws: BootClockError.timeOffsetUnreadable) { try TimeNamespace.requireMachineTime(offsets: offsets) }
    }

    @Test(arguments: ["/nonexistent", "/proc/self", "/proc/kallsyms", "/proc/self/mem"])
    func `a file of the kernel that cannot be read whole has no text`(_ path: String) {
        #expect(KernelFile.text(of: path) == nil)
    }

    @Test func `a boot identifier is read from its text`() {
        let identifier = BootIdentifier(uuid: "00010203-0405-0607-0809-0a0b0c0d0e0f\n")
        #expect(identifier?.bytes == Array(0...15))
    }

    @Test(arguments: [
        "", "\n", "00010203-0405-0607-0809-0a0b0c0d0e0", "00010203-0405-0607-0809-0a0b0c0d0e0f0",
        "+1" + "00010203-0405-0607-0809-0a0b0c0d0e",
        "zz010203-0405-0607-0809-0a0b0c0d0e0f",
    ])
    func `other texts are no boot identifier`(_ text: String) {
        #expect(BootIdentifier(uuid: text) == nil)
    }
}
