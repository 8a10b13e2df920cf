import CLinuxShims
import Glibc
import UnixSocket

/// `ostiary-templates [FOLDER]`: serves one connection of `ostiary-templates.socket`, which is its standard input.
///
/// It sends the connected user a digest of the fingerprint templates that fprintd keeps for that user, and again after
/// each change. A caller that asks for another user is refused. It runs as root, because only root can read templates.
/// Its only argument is fprintd's folder and comes from the unit.
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
            let userID = try caller.peerCredentials().userID
            try CallerConnection(caller).serve(TemplateFolder(at: folder, ofUser: userID))
        } catch {
            let line = Array("ostiary-templates: \(error)\n".utf8)
            _ = unsafe write(STDERR_FILENO, line, line.count)
            exit(1)
        }
    }
}
