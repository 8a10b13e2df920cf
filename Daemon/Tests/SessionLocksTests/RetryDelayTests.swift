import Testing

@testable import SessionLocks

@Suite struct RetryDelayTests {
    @Test func `a bus that does not come is tried ever more rarely, and at least once a minute`() {
        var delay = RetryDelay()
        #expect((0..<9).map { _ in delay.next() } == [1, 2, 4, 8, 16, 32, 60, 60, 60])
    }

    @Test func `a bus that worked is tried soon again`() {
        var delay = RetryDelay()
        for _ in 0..<9 { _ = delay.next() }
        delay.reset()
        #expect(delay.next() == 1)
    }
}
