import Testing

@testable import MessageBus

@Suite struct RetryDelayTests {
    @Test func `a bus that does not come is tried ever more rarely, and at least once a minute`() {
        var delay = RetryDelay()
        #expect((0..<9).map { _ in delay.next() } == [1, 2, 4, 8, 16, 32, 60, 60, 60])
    }
}
