import Glibc
import HelperProcesses
import PromptProtocol
import UnixSocket

/// A running pinentry with pipes to its standard input and output.
struct PinentryProcess: ~Copyable {
    private let process: UnreapedProcess
    private let input: Descriptor
    /// Where its lines come from.
    let output: Descriptor

    /// How long it may take to end by itself once asked to.
    private static let endPatienceMilliseconds: CInt = 300

    /// Starts the program with an environment of its own making and no descriptors but the pipes.
    ///
    /// It runs in the prompt's own session, which it does not lead: so it cannot make the terminal its controlling one, and
    /// it ends with the prompt's process group, should the prompt be killed.
    init(_ options: PinentryOptions) throws(SystemCallError) {
        let toDialog = try PipeEnds()
        let fromDialog = try PipeEnds()
        process = try UnreapedProcess(
            program: options.program, environment: Self.environment(options),
            descriptors: [toDialog.reader.number, fromDialog.writer.number, -1], leadsSession: false)
        input = toDialog.writer
        output = fromDialog.reader
    }

    private static func environment(_ options: PinentryOptions) -> [String] {
        var environment = ["LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"]
        if let display = options.display { environment.append("DISPLAY=\(display)") }
        if let display = options.waylandDisplay { environment.append("WAYLAND_DISPLAY=\(display)") }
        if let authority = options.xAuthority { environment.append("XAUTHORITY=\(authority)") }
        return environment
    }

    /// Sends one line; false when nobody listens any more. A line fits into the pipe, so this never waits for long.
    borrowing func send(_ line: [UInt8]) -> Bool {
        var rest = line[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe write(input.number, $0.baseAddress!, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Ends the program and waits until it is gone. Closing its input does not end it while its dialog is up.
    consuming func end() {
        process.terminate()
        // Its output hangs up when it is gone; its last output does not matter.
        var polled = pollfd(fd: output.number, events: 0, revents: 0)
        _ = unsafe poll(&polled, 1, Self.endPatienceMilliseconds)
        process.killAndReap()
    }
}
