import Foundation

/// A thread of its own that runs one piece of work.
///
/// SAFETY: `work` is run once, on the thread; nothing else touches it.
final class Worker: @unchecked Sendable {
    private let work: () -> Void
    private let end = DispatchSemaphore(value: 0)

    init(_ work: @escaping () -> Void) {
        self.work = work
        Thread { [self] in
            self.work()
            end.signal()
        }.start()
    }

    func join() { end.wait() }
}
