import CLinuxShims
import Cancellations
import FingerprintReader
import Foundation
import Glibc
import Synchronization
import UnixSocket

/// Ctrl-C and the other signals that end programs. They end a wait for the reader, which is then given back; after that the
/// program ends by the signal.
final class Interruption: Sendable {
    let stop: PollableCancellation
    private let received = Mutex<CInt>(SIGTERM)

    /// To be made before the program has a second thread.
    init() throws(Fault) {
        do throws(SystemCallError) {
            let signals = SharedDescriptor(try Descriptor(ostiary_end_signals(), from: "signalfd"))
            stop = try PollableCancellation()
            Thread.detachNewThread { [self] in wait(at: signals) }
        } catch { throw .system(error) }
    }

    private func wait(at signals: SharedDescriptor) {
        // signalfd_siginfo (signalfd(2)): 128 bytes, of which the first four are the signal's number.
        var information = [UInt32](repeating: 0, count: 32)
        guard unsafe read(signals.number, &information, 128) == 128 else { return }
        received.withLock { $0 = CInt(information[0]) }
        stop.cancel()
    }

    /// Ends the program as the signal would have.
    func endBySignal() -> Never {
        let number = received.withLock { $0 }
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, number)
        signal(number, SIG_DFL)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        raise(number)
        // Where the signal is ignored or held back by others.
        exit(128 + number)
    }
}
