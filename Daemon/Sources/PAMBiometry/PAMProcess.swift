import Cancellations
import Glibc
import PAMProtocol
import PromptProtocol
import UnixSocket

/// A running `ostiary-pam`, from this side of its channel.
struct PAMProcess: ~Copyable {
    private let process: ChildProcess
    private let channel: Descriptor

    /// Starts it with an environment of our own, exactly its descriptors, and in a session of its own.
    init(_ program: String, systemBus: String, _ request: PAMRequest) throws(PAMFailure) {
        guard let bytes = request.bytes else { throw .withoutHelper }
        do throws(SystemCallError) {
            let ends = try ChannelEnds()
            // It is one message and fits into the socket's buffer.
            guard unsafe send(ends.daemon.number, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count else {
                throw SystemCallError("send")
            }
            var descriptors = [CInt](repeating: -1, count: PAMDescriptor.count)
            descriptors[Int(PAMDescriptor.channel)] = ends.program.number
            process = try ChildProcess(
                program: program, environment: Self.environment(systemBus), descriptors: descriptors,
                leadsSession: true)
            channel = ends.daemon
        } catch { throw .withoutHelper }
    }

    /// The environment of the helper. All of it is made here.
    private static func environment(_ systemBus: String) -> [String] {
        [
            "SWIFT_BACKTRACE=enable=no", "LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin",
            "DBUS_SYSTEM_BUS_ADDRESS=unix:path=\(systemBus)",
        ]
    }

    /// Waits for the helper's next report.
    borrowing func nextReport(
        until deadline: ContinuousClock.Instant, _ stop: PollableCancellation
    ) throws(PAMFailure) -> PAMReport {
        while true {
            var polled = [
                pollfd(fd: stop.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: channel.number, events: Int16(POLLIN), revents: 0),
            ]
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero else { throw .timedOut }
            let count = unsafe poll(&polled, 2, CInt(left / .milliseconds(1)) + 1)
            if stop.isCancelled { throw .stopped }
            guard count > 0, polled[1].revents != 0 else { continue }
            return try receive()
        }
    }

    private borrowing func receive() throws(PAMFailure) -> PAMReport {
        var bytes = [UInt8](repeating: 0, count: PAMReport.maximumByteCount + 1)
        var count = unsafe recv(channel.number, &bytes, bytes.count, 0)
        while count < 0, errno == EINTR { count = unsafe recv(channel.number, &bytes, bytes.count, 0) }
        guard count > 0 else { throw .helperEnded }
        guard let report = PAMReport(decoding: Array(bytes[..<count])) else { throw .unexpected }
        return report
    }

    /// Ends the helper and everything that its module has started in its process group.
    consuming func end() { process.killAndReap(withGroup: true) }
}
