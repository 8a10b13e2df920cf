import DetachedThreads
import Dispatch
import Glibc
import Synchronization
import Testing

@testable import MessageBus

/// The work that other threads give the thread of a served connection.
@Suite(.timeLimit(.minutes(10))) struct ServerQueueTests {
    private let queue: ServerQueue

    init() throws { queue = try ServerQueue() }

    /// Whether a wait for the queue ends within this time; at once where nothing is said.
    private func isReadable(withinMilliseconds time: CInt = 0) -> Bool {
        var waiting = pollfd(fd: queue.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&waiting, 1, time) == 1
    }

    @Test func `work that comes while the thread is busy ends no wait, and the next one does not begin`() {
        #expect(queue.add { _ in })
        #expect(!isReadable() && !queue.beginWait())
        #expect(queue.takeAll().count == 1)
        #expect(queue.beginWait() && !isReadable())
    }

    @Test func `work ends the wait that it comes in, and leaves nothing behind`() {
        for count in [1, 2, 100] {
            #expect(queue.beginWait())
            for _ in 0..<count { queue.add { _ in } }
            #expect(isReadable() && queue.takeAll().count == count && !isReadable())
        }
    }

    /// The bus ended it.
    @Test func `a wait that work did not end leaves nothing behind either`() {
        #expect(queue.beginWait())
        #expect(queue.takeAll().isEmpty)
        queue.add { _ in }
        #expect(!isReadable() && queue.takeAll().count == 1)
    }

    @Test func `an ended queue gives its work back, and takes none`() {
        #expect(queue.beginWait())
        queue.add { _ in }
        #expect(queue.end().count == 1)
        #expect(!queue.add { _ in } && queue.takeAll().isEmpty && !isReadable())
    }

    @Test func `work that comes at the moment in which a wait begins or ends is found`() throws {
        let (count, threads) = (20_000, 3)
        let given = Mutex(0)
        for _ in 0..<threads {
            let isStarted = DetachedThread.start { [queue] in
                for _ in 0..<count {
                    queue.add { _ in }
                    given.withLock { $0 += 1 }
                }
            }
            #expect(isStarted)
        }
        var taken = 0
        while taken < count * threads {
            if queue.beginWait() {
                try #require(
                    isReadable(withinMilliseconds: 300_000), "\(taken) of \(given.withLock { $0 }) pieces were found")
            }
            taken += queue.takeAll().count
        }
        #expect(taken == count * threads && !isReadable())
    }
}
