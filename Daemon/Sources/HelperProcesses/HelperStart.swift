import CLinuxShims
import Dispatch
import Glibc
import UnixSocket

/// The helper's own side.
package enum HelperStart {
    /// Whether the service manager has started this process as a helper. To be asked before ``takeDescriptors()``, which removes the
    /// variables.
    package static var isActivated: Bool { variable("LISTEN_PID") == "\(getpid())" }

    /// Makes the descriptors of a helper that the service manager started the same as those of a helper that the daemon started.
    ///
    /// The service manager gives a connection as number 3 and says so with variables, which are removed (sd_listen_fds(3)). The
    /// daemon makes the environment of a helper that it starts, and sets none of them.
    ///
    /// To be called before the process has a second thread or opens a file.
    ///
    /// - Returns: false when the daemon gave up, or sent something else than a hand-over.
    package static func takeDescriptors() -> Bool {
        guard isActivated else { return true }
        let count = variable("LISTEN_FDS")
        for name in ["LISTEN_PID", "LISTEN_PIDFDID", "LISTEN_FDS", "LISTEN_FDNAMES"] { unsafe unsetenv(name) }
        guard count == "1", let connection = lifted(3) else { return false }
        defer { close(connection) }
        close(3)
        let greeting = HandOver.greeting
        guard unsafe ostiary_send(connection, greeting, greeting.count, nil, 0) == greeting.count else { return false }
        return receive(on: connection)
    }

    private static func variable(_ name: String) -> String? {
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }

    private static func receive(on connection: CInt) -> Bool {
        // Nothing is put in its place before everything is there: a place may be in use until then.
        var given: [(number: Int32, descriptor: CInt)] = []
        defer { for (_, descriptor) in given { close(descriptor) } }
        while given.count <= Int(HelperProcessLimits.highestNumber) {
            var bytes: [UInt8] = [0, 0, 0]
            var sender = ostiary_sender()
            let count = unsafe ostiary_receive(
                connection, &bytes, bytes.count, CInt(OSTIARY_RECEIVE_DESCRIPTOR), &sender)
            let passed = sender.descriptor_count > 0 ? sender.descriptors.0 : -1
            defer { if passed >= 0 { close(passed) } }
            let number = Int32(bytes[1])
            guard count == 2, sender.refused_descriptors == 0, (3...HelperProcessLimits.highestNumber).contains(number),
                !given.contains(where: { $0.number == number }), let kind = HandOver.Kind(rawValue: bytes[0]),
                (kind == .descriptor) == (passed >= 0)
            else { return false }
            switch kind {
            case .nullDevice:
                let null = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
                defer { close(null) }
                guard let descriptor = lifted(null) else { return false }
                given.append((number, descriptor))
            case .descriptor:
                guard let descriptor = lifted(passed) else { return false }
                given.append((number, descriptor))
            case .complete:
                return dup2(connection, number) == number
                    && given.allSatisfy { dup2($0.descriptor, $0.number) == $0.number }
            }
        }
        return false
    }

    /// A copy above all places; nil when there is none.
    private static func lifted(_ descriptor: CInt) -> CInt? {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, HelperProcessLimits.highestNumber + 1)
        return copy < 0 ? nil : copy
    }

    /// From now on this process, and all that it started, ends at once when the daemon hangs up or dies. For helpers to which the daemon
    /// sends nothing more.
    ///
    /// A thread waits for the hang-up, because foreign code may never return.
    ///
    /// - Parameter connection: the number of the connection to the daemon.
    /// - Returns: false when there is no such thread.
    package static func endsWithDaemon(on connection: Int32) -> Bool {
        ConnectionWatch(connection, events: Int16(POLLIN), patience: 0, endsGroup: true).start()
    }

    /// From now on this process ends a second after the daemon's last word to it at the latest: when the connection is closed in both
    /// directions, because the daemon ended it or died. For helpers that read their connection, and clean up by themselves when
    /// the daemon ends only its sending direction.
    ///
    /// A thread waits for the end. It blocks the signals that are blocked now, and it runs when this function returns: a filter of
    /// system calls may follow.
    ///
    /// - Parameters:
    ///   - connection: the number of the connection to the daemon.
    ///   - endsGroup: whether all that this process started ends with it. A filter of system calls may not allow that.
    /// - Returns: false when there is no such thread.
    package static func endsAfterDaemon(on connection: Int32, withGroup endsGroup: Bool = true) -> Bool {
        // No event is asked for, so only the end of both directions comes. A daemon that ends its sending direction still reads.
        ConnectionWatch(connection, events: 0, patience: 1, endsGroup: endsGroup).start()
    }
}

/// The end of a process with its connection to the daemon.
private final class ConnectionWatch: Sendable {
    /// Signalled when the thread runs.
    private let isRunning = DispatchSemaphore(value: 0)
    private let connection: CInt
    /// The events of poll(2) that are an end, besides the end of both directions.
    private let events: Int16
    /// From the connection's end to the process's, in seconds.
    private let patience: UInt32
    /// Whether the process group ends with the process, if the process leads one.
    private let endsGroup: Bool

    init(_ connection: CInt, events: Int16, patience: UInt32, endsGroup: Bool) {
        (self.connection, self.events, self.patience, self.endsGroup) = (connection, events, patience, endsGroup)
    }

    /// Returns when the thread runs; false when there is none.
    func start() -> Bool {
        let context = unsafe Unmanaged.passRetained(self)
        var thread = pthread_t()
        let code = unsafe pthread_create(
            &thread, nil,
            { context in
                guard let context = unsafe context else { return nil }
                unsafe Unmanaged<ConnectionWatch>.fromOpaque(context).takeRetainedValue().run()
            }, context.toOpaque())
        guard code == 0 else {
            unsafe context.release()
            return false
        }
        isRunning.wait()
        return true
    }

    private func run() -> Never {
        isRunning.signal()
        var polled = pollfd(fd: connection, events: events, revents: 0)
        while unsafe poll(&polled, 1, -1) < 0, errno == EINTR {}
        sleep(patience)
        if endsGroup, getpgrp() == getpid() { kill(0, SIGKILL) }
        _exit(1)
    }
}
