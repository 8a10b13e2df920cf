import CLinuxShims
import Glibc
import UnixSocket

/// `ostiary-templates [FOLDER [ACCOUNT]]`: serves one connection of `ostiary-templates.socket`, which is its standard input.
///
/// It sends the connected user a digest of the fingerprint templates that fprintd keeps for that user, and again after
/// each change. A caller that asks for another user is refused, unless it is the account of the machine's daemon. It runs as root,
/// because only root can read templates. Its arguments are fprintd's folder and that account, and come from the unit.
@main
struct Program {
    static func main() {
        // A core dump must not contain templates.
        guard ostiary_forbid_dumps() == 0 else { exit(1) }
        signal(SIGPIPE, SIG_IGN)
        let folder = CommandLine.arguments.count > 1 ? CommandLine.arguments[1] : "/var/lib/fprint"
        let caller = UnixSocket(owning: Descriptor(owning: STDIN_FILENO))
        do {
            // The kernel names the connected user. The caller's bytes only name the owner of the templates.
            let rights = CallerRights(of: try caller.peerCredentials().userID, trusting: try trustedUserID())
            try CallerConnection(caller).serve(folder, within: rights)
        } catch {
            let line = Array("ostiary-templates: \(error)\n".utf8)
            _ = unsafe write(STDERR_FILENO, line, line.count)
            exit(1)
        }
    }

    /// The account that may ask for any user; nil for none. An account without a number ends the process: nobody takes its place.
    private static func trustedUserID() throws(SystemCallError) -> UInt32? {
        guard CommandLine.arguments.count > 2 else { return nil }
        let name = CommandLine.arguments[2]
        errno = 0
        guard let entry = unsafe getpwnam(name) else {
            throw SystemCallError("getpwnam", subject: name, code: errno == 0 ? ENOENT : errno)
        }
        return unsafe entry.pointee.pw_uid
    }
}

/// About whom a caller may ask.
struct CallerRights {
    private let userID: UInt32
    private let trustedUserID: UInt32?

    /// - Parameter trustedUserID: the account that may ask for any user; nil for none.
    init(of userID: UInt32, trusting trustedUserID: UInt32?) {
        (self.userID, self.trustedUserID) = (userID, trustedUserID)
    }

    func include(_ asked: UInt32) -> Bool { asked == userID || userID == trustedUserID }
}
