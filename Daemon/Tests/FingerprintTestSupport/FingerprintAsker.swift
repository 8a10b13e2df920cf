import Glibc
public import SystemBusTestSupport
import TerminalTestSupport
import UnixSocket

/// Another program that uses the reader of a test's bus: `fingerprint-asker`. It is killed with the value.
public final class FingerprintAsker: Sendable {
    public enum Command: String, Sendable { case state, verify, hold }

    private let process: SpawnedProcess
    private let output: OutputPipe

    /// Starts it.
    ///
    /// - Parameter userID: the user as whom it runs; nil for the one of the test. Others need root.
    public init(_ command: Command, on bus: PrivateBus, asUser userID: UInt32? = nil) throws {
        let (output, writing) = try OutputPipe.make()
        self.output = output
        let program = [Build.program("fingerprint-asker"), bus.path, "\(getuid())", command.rawValue]
        let wrapper = userID.map { ["/usr/bin/setpriv", "--reuid=\($0)", "--regid=\($0)", "--clear-groups"] } ?? []
        let command = wrapper + program
        process = try SpawnedProcess(
            command[0], Array(command.dropFirst()), environment: ["PATH=/usr/bin:/bin"],
            descriptors: [-1, writing.number, -1])
    }

    /// Waits until it has printed the line.
    public func waitFor(_ line: String) throws {
        try eventually("\(line) is printed") { output.lines(waitMilliseconds: 10).contains(line) }
    }

    /// Everything that it prints until it ends.
    public func run() throws -> [String] {
        guard process.wait() != .stillRunning else { throw StillRunning() }
        return output.lines(waitMilliseconds: 0)
    }

    public struct StillRunning: Error {}

    /// Kills it.
    public func kill() { process.end() }
}
