import CLinuxShims
import Foundation
import Glibc
import PAMProtocol

/// The socket to the daemon. There is one in the process, because libpam's callback is a C function.
struct DaemonChannel {
    init() {
        // A program that a module starts could otherwise keep the channel open, or write to it.
        _ = fcntl(PAMDescriptor.channel, F_SETFD, FD_CLOEXEC)
    }

    /// The account of the process that made or connected the channel; nil when the kernel does not say.
    var peerUserID: UInt32? {
        var (process, user, group): (pid_t, uid_t, gid_t) = (0, 0, 0)
        return ostiary_peer_credentials(PAMDescriptor.channel, &process, &user, &group) == 0 ? user : nil
    }

    /// Nil when the daemon sent none, or something else.
    func receiveRequest() -> PAMRequest? {
        var bytes = [UInt8](repeating: 0, count: PAMRequest.maximumByteCount + 1)
        var count = recv(PAMDescriptor.channel, &bytes, bytes.count, 0)
        while count < 0, errno == EINTR { count = recv(PAMDescriptor.channel, &bytes, bytes.count, 0) }
        guard count > 0 else { return nil }
        return PAMRequest(decoding: Array(bytes[..<count]))
    }

    /// Waits while the daemon does not read; the daemon keeps the time limit.
    func send(_ report: PAMReport) {
        let bytes = report.bytes
        while Glibc.send(PAMDescriptor.channel, bytes, bytes.count, CInt(MSG_NOSIGNAL)) < 0, errno == EINTR {}
    }

    /// Sends the result as the last message, and ends the process.
    ///
    /// Not with `exit`, which would run code of the modules once more.
    func end(_ result: PAMResult) -> Never {
        send(.result(result))
        _exit(0)
    }
}
