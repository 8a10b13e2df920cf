import Glibc
import UnixSocket

/// The sockets at which the service manager listens for the daemon (sd_listen_fds(3)). They outlive the daemon: a program that
/// connects while none runs waits for the next one.
struct InheritedListeners {
    /// For programs.
    let requests: UnixSocket
    /// For the PAM module. Nil where the administrator does not use `ostiaryd-pam.socket`.
    let signIns: UnixSocket?

    /// Takes over exactly the sockets of the units, told apart by their names. Removes the variables that announce them.
    static func take(at paths: MachinePaths) throws -> InheritedListeners {
        var (requests, signIns): (UnixSocket?, UnixSocket?) = (nil, nil)
        for (index, name) in try passedNames().enumerated() {
            let number = firstNumber + CInt(index)
            switch name {
            case "requests" where requests == nil:
                requests = try listener(number, name, ListenerAddress(type: stream, path: paths.requests))
            case "pam" where signIns == nil:
                signIns = try listener(number, name, ListenerAddress(type: sequentialPacket, path: paths.signIns))
            default:
                throw StartError(
                    "The service manager passed a socket by the name \(name), and ostiaryd knows no such one, or has it already. "
                        + remedy)
            }
        }
        guard let requests else {
            throw StartError("The service manager passed no socket by the name requests. " + remedy)
        }
        return InheritedListeners(requests: requests, signIns: signIns)
    }

    private static let firstNumber: CInt = 3
    private static let stream = CInt(SOCK_STREAM.rawValue)
    private static let sequentialPacket = CInt(SOCK_SEQPACKET.rawValue)
    private static let remedy =
        "Use ostiaryd.service, ostiaryd.socket and ostiaryd-pam.socket as they are installed, and start again."

    /// The names of the passed descriptors, which begin at ``firstNumber``.
    private static func passedNames() throws -> [String] {
        let process = removedVariable("LISTEN_PID")
        let count = removedVariable("LISTEN_FDS")
        let names = removedVariable("LISTEN_FDNAMES")
        // Variables for another process, which started this one, say nothing about this one's descriptors.
        guard let process, let count, let names, process == "\(getpid())" else {
            throw StartError(
                "ostiaryd --system takes its sockets from the service manager, and was started without them. Use "
                    + "`systemctl start ostiaryd.service`.")
        }
        let list = names.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard count == "\(list.count)" else {
            throw StartError("LISTEN_FDS and LISTEN_FDNAMES do not agree on the number of sockets. " + remedy)
        }
        return list
    }

    /// The value of a variable of the environment, which is removed.
    private static func removedVariable(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        let text = unsafe String(cString: value)
        unsafe unsetenv(name)
        return text
    }

    private static func listener(_ number: CInt, _ name: String, _ expected: ListenerAddress) throws -> UnixSocket {
        let address: ListenerAddress
        do throws(SystemCallError) { address = try ListenerAddress(of: number) } catch {
            throw StartError(
                "The descriptor that was passed as \(name) is no Unix socket that listens (\(error)). " + remedy)
        }
        guard address == expected else {
            throw StartError(
                "The socket that was passed as \(name) is not the one at \(expected.path), or not of its type. "
                    + remedy)
        }
        do throws(SystemCallError) { return try UnixSocket.inherited(number) } catch { throw StartError("\(error)") }
    }
}
