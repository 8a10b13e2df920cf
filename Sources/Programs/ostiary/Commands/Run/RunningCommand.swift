import CCommandLaunch
import CLinuxShims
import Glibc
import UnixSocket

/// The signals of this process, from the beginning of a command to its end.
struct NotedSignals: ~Copyable {
    private let descriptor: Descriptor
    var number: CInt { descriptor.number }

    init() throws(CommandError) {
        do { descriptor = try Descriptor(ostiary_note_signals(), from: "sigaction") } catch {
            throw .commandNotStarted(error)
        }
    }

    func next() -> ostiary_noted_signal? {
        var signal = ostiary_noted_signal()
        return unsafe ostiary_next_signal(descriptor.number, &signal) == 1 ? signal : nil
    }
}

/// A command that runs, as long as it does: feeds its pipes, passes signals on, and stops with it.
struct RunningCommand: ~Copyable {
    private let started: CommandLaunch.Started
    private let pipes: [SecretPipe]
    private let signals: NotedSignals

    init(_ started: consuming CommandLaunch.Started, _ pipes: [SecretPipe], _ signals: consuming NotedSignals) {
        self.started = started
        self.pipes = pipes
        self.signals = signals
    }

    /// Waits for the command's end, and takes back what it has not read.
    ///
    /// - Returns: its exit status, or 128 and the number of the signal that ended it.
    consuming func waitForStatus() -> CInt {
        let status = serve()
        for pipe in pipes { pipe.end() }
        started.files.wipe()
        return status
    }

    private func serve() -> CInt {
        while true {
            let waiting = pipes.compactMap(\.waiting).map { pollfd(fd: $0, events: Int16(POLLOUT), revents: 0) }
            var watched = [pollfd(fd: signals.number, events: Int16(POLLIN), revents: 0)] + waiting
            // A signal interrupts this, and is there to be read then.
            _ = unsafe poll(&watched, nfds_t(watched.count), -1)
            for pipe in pipes { pipe.fill() }
            while let signal = signals.next() {
                if signal.number == SIGCHLD {
                    if let status = change() { return status }
                } else if signal.is_from_process != 0 {
                    // What the terminal sent, the command has got itself: it is in the same process group.
                    kill(started.id, signal.number)
                }
            }
        }
    }

    /// Looks whether the command has ended or was stopped; its exit status once it has ended.
    private func change() -> CInt? {
        var status: CInt = 0
        while true {
            let id = unsafe waitpid(started.id, &status, WNOHANG | WUNTRACED)
            if id < 0, errno == EINTR { continue }
            guard id == started.id else { return nil }
            if status & 0xff == 0x7f {
                stop()
            } else {
                let signal = status & 0x7f
                return signal == 0 ? status >> 8 & 0xff : 128 + signal
            }
        }
    }

    /// Stops with the command, so that the shell sees its job stopped, and lets the command go on afterwards. Without a terminal there
    /// is no such shell. The program that stopped the command continues it.
    private func stop() {
        let terminal = unsafe open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard terminal >= 0 else { return }
        close(terminal)
        ostiary_stop_self()
        kill(started.id, SIGCONT)
    }
}
