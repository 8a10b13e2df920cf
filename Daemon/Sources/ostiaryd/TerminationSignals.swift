import Glibc

/// Waits for SIGTERM, SIGINT or SIGHUP. The signals are blocked in every thread from the moment this is made, which must be
/// before the first other thread, and taken here one by one.
struct TerminationSignals {
    private var signals = sigset_t()

    init() {
        unsafe sigemptyset(&signals)
        for signal in [SIGTERM, SIGINT, SIGHUP] { unsafe sigaddset(&signals, signal) }
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
        signal(SIGPIPE, SIG_IGN)
        // The program that starts the daemon may have a limit on file sizes. A write beyond it then fails, as on a full
        // disk.
        signal(SIGXFSZ, SIG_IGN)
    }

    func wait() {
        var signals = signals
        var received: CInt = 0
        while unsafe sigwait(&signals, &received) != 0 {}
    }
}
