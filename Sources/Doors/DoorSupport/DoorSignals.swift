import Glibc

/// The signals that a door waits for: SIGTERM, SIGINT and SIGHUP end it.
///
/// To be made before the process has a second thread, because threads inherit what is blocked.
package struct DoorSignals: Sendable {
    private static let ends = [SIGTERM, SIGINT, SIGHUP]
    private let others: [CInt]

    /// - Parameter others: signals that mean something else to this door.
    /// - Throws: `doorUnusable`.
    package init(and others: CInt...) throws(DoorFailure) {
        self.others = others
        var blocked = signals
        guard unsafe pthread_sigmask(SIG_BLOCK, &blocked, nil) == 0 else {
            throw .unusable("Signals cannot be blocked.")
        }
    }

    private var signals: sigset_t {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        for number in Self.ends + others { unsafe sigaddset(&signals, number) }
        return signals
    }

    /// Returns once the door is to end. Blocks, so it has a thread of its own.
    ///
    /// - Parameter act: done at each of the other signals.
    package func waitForEnd(otherwise act: () -> Void = {}) {
        var awaited = signals
        while true {
            var number: CInt = 0
            guard unsafe sigwait(&awaited, &number) == 0, others.contains(number) else { return }
            act()
        }
    }
}
