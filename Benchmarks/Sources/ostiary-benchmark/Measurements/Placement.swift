import CLinuxShims
import Glibc
import UnixSocket

/// On which processors everything of one pass runs.
enum Placement: Equatable {
    /// Wherever the scheduler likes: round trips are then bimodal, near to or far from each other.
    case free
    /// Client, daemon, echo server and ssh-agent share one processor.
    case pinned(Int)

    static var lastProcessor: Int { max(sysconf(CInt(_SC_NPROCESSORS_ONLN)), 1) - 1 }

    /// Applies to the calling thread and to everything that it starts from now on.
    func apply() throws {
        guard case .pinned(let processor) = self else { return }
        guard ostiary_pin_to_processor(CInt(clamping: processor)) == 0 else {
            throw SystemCallError("sched_setaffinity", subject: "processor \(processor)")
        }
    }
}
