import Foundation
import Glibc
import PAMProtocol

/// The socket to the daemon. There is one in the process, because libpam's callback is a C function.
struct DaemonChannel {
    init() {
        // A program that a module starts could otherwise keep the channel open, or write to it.
        _ = fcntl(PAMDescriptor.channel, F_SETFD, FD_CLOEXEC)
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

    /// From now on this process and all that it started end at once when the daemon closes its end of the channel, or dies.
    /// A thread waits for that, because a module may never return. False when there is no such thread.
    func endsWithDaemon() -> Bool {
        var thread = pthread_t()
        return pthread_create(&thread, nil, { _ in DaemonChannel.waitForEnd() }, nil) == 0
    }

    private static func waitForEnd() -> Never {
        var polled = pollfd(fd: PAMDescriptor.channel, events: Int16(POLLIN), revents: 0)
        // The daemon sends nothing after its request.
        while poll(&polled, 1, -1) < 0, errno == EINTR {}
        if getpgrp() == getpid() { kill(0, SIGKILL) }
        _exit(1)
    }
}
