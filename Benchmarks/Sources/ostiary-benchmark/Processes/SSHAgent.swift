import Foundation
import Glibc
import UnixSocket

/// Debian's ssh-agent with one ECDSA P-256 key in it.
final class SSHAgent {
    let socketPath: String
    let publicKeyPath: String
    private let process: ChildProcess

    init(in folder: String) throws {
        socketPath = folder + "/ssh-agent"
        let key = folder + "/ssh-key"
        publicKeyPath = key + ".pub"
        try ChildProcess.run("/usr/bin/ssh-keygen", ["-q", "-t", "ecdsa", "-b", "256", "-N", "", "-f", key])
        process = try ChildProcess("/usr/bin/ssh-agent", ["-D", "-a", socketPath])
        try Listening.wait(at: socketPath)
        try ChildProcess.run("/usr/bin/ssh-add", ["-q", key], environment: ["SSH_AUTH_SOCK=" + socketPath])
    }
}

/// Waits for programs that do not say when they are ready.
enum Listening {
    /// Returns once somebody listens at `path`; throws after five seconds.
    static func wait(at path: String) throws {
        for _ in 0..<500 {
            if (try? UnixSocket.connect(to: path)) != nil { return }
            usleep(10_000)
        }
        throw SystemCallError("connect", subject: path, code: ETIMEDOUT)
    }
}
