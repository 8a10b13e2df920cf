import DeviceTestSupport
import FingerprintTestSupport
import TerminalTestSupport
import UnixSocket

/// The part under test in a program of its own, `plug-listener`. It is killed with the value.
final class PlugListener {
    private let process: SpawnedProcess
    private let output: OutputPipe

    /// Starts it.
    ///
    /// - Parameters:
    ///   - rest: milliseconds without another announcement before it is told.
    ///   - longest: milliseconds after the first one.
    ///   - wrapper: a program with arguments that executes what follows them.
    init(rest: Int = 300, longest: Int = 60_000, under wrapper: [String] = PlayedUdev.wrapper) throws {
        let (output, writing) = try OutputPipe.make()
        self.output = output
        let command = wrapper + [Build.program("plug-listener"), "\(rest)", "\(longest)"]
        process = try withExtendedLifetime(writing) {
            try SpawnedProcess(command[0], Array(command.dropFirst()), descriptors: [-1, writing.number, -1])
        }
    }

    func waitUntilListening() throws { try waitFor("listening") }

    /// Waits until it has printed the line.
    func waitFor(_ line: String) throws {
        try eventually("\(line) is printed") { output.lines(waitMilliseconds: 10).contains(line) }
    }

    func announce(_ announcement: PlayedUdev.Announcement, count: Int = 1, pause: Double = 0) throws {
        try PlayedUdev.announce(announcement, to: process.processID, count: count, pause: pause)
    }

    /// How often it was told, when nothing more is printed for this time.
    func tellingCount(waitMilliseconds milliseconds: CInt = 1_000) -> Int {
        output.lines(waitMilliseconds: milliseconds).count { $0 == "plugged" }
    }

    var ending: ProcessEnding { process.wait() }
}
