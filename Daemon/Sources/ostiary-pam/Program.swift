import CLinuxShims
import Glibc
import PAMProtocol

/// `ostiary-pam`: asks one PAM service who is in front of the machine, and ends.
///
/// The daemon starts it for one attempt. It takes no arguments, decides nothing by its environment, answers no question of
/// a module, and authenticates nobody but the user as whom it runs.
@main
struct Program {
    static func main() {
        guard ostiary_occupy_standard_descriptors() == 0 else { exit(1) }
        guard ostiary_forbid_dumps() == 0, ostiary_forbid_new_privileges() == 0 else { exit(1) }
        let daemon = DaemonChannel()
        guard let request = daemon.receiveRequest() else { daemon.end(.badRequest) }
        guard daemon.endsWithDaemon() else { exit(1) }
        daemon.end(Authentication(request).run())
    }
}
