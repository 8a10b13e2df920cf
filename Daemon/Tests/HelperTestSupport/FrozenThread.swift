import CThreadFreezer
import Glibc
import UnixSocket

/// The first thread of a process, stopped: to the process it never returns from its call. The other threads go on.
///
/// It is to be made and released on one thread, which the kernel takes for the one that stops it.
package final class FrozenThread {
    private let processID: pid_t

    package init(of processID: Int32) throws {
        guard freezer_stop_first_thread(processID) == 0 else {
            throw SystemCallError("ptrace", subject: "\(processID)")
        }
        self.processID = processID
    }

    deinit { freezer_reap(processID) }
}
