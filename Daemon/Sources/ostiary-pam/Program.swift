import CLinuxShims
import Glibc
import HelperProcesses
import PAMProtocol

/// `ostiary-pam`: asks one PAM service who is in front of the machine, and ends.
///
/// The daemon or the service manager starts it for one attempt. It takes no arguments, decides by its environment only which of
/// the two started it, answers no question of a module, and authenticates only its own user, unless it runs as root or was started for
/// the machine's daemon.
@main
struct Program {
    static func main() {
        guard ostiary_occupy_standard_descriptors() == 0 else { exit(1) }
        guard ostiary_forbid_dumps() == 0, ostiary_forbid_new_privileges() == 0 else { exit(1) }
        let isActivated = HelperStart.isActivated
        guard HelperStart.takeDescriptors() else { exit(1) }
        let daemon = DaemonChannel()
        guard let request = daemon.receiveRequest(), let sender = daemon.peerUserID else { daemon.end(.badRequest) }
        guard HelperStart.endsWithDaemon(on: PAMDescriptor.channel) else { exit(1) }
        daemon.end(Authentication(request, from: sender, isActivated: isActivated).run())
    }
}
