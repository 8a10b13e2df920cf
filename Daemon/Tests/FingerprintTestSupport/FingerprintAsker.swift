import Glibc
import Synchronization
public import SystemBusTestSupport
import TerminalTestSupport
import UnixSocket

/// Another program that uses the reader of a test's bus: `fingerprint-asker`. It is killed with the value.
public final class FingerprintAsker: Sendable {
    public enum Command: String, Sendable { case state, verify, hold }

    private let process: SpawnedProcess
    private let output: SharedDescriptor
    private let text = Mutex("")

    /// Starts it.
    ///
    /// - Parameter userID: the user as whom it runs; nil for the one of the test. Others need root.
    public init(_ command: Command, on bus: PrivateBus, asUser userID: UInt32? = nil) throws {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SystemCallError("pipe") }
        output = SharedDescriptor(Descriptor(owning: ends[0]))
        let writer = Descriptor(owning: ends[1])
        let program = [Build.program("fingerprint-asker"), bus.path, "\(getuid())", command.rawValue]
        let wrapper = userID.map { ["/usr/bin/setpriv", "--reuid=\($0)", "--regid=\($0)", "--clear-groups"] } ?? []
        let command = wrapper + program
        process = try SpawnedProcess(
            command[0], Array(command.dropFirst()), environment: ["PATH=/usr/bin:/bin"],
            descriptors: [-1, writer.number, -1])
    }

    /// Waits until it has printed the line.
    public func waitFor(_ line: String) throws {
        try eventually("\(line) is printed") { lines(waitMilliseconds: 10).contains(line) }
    }

    /// Everything that it prints until it ends.
    public func run() throws -> [String] {
        guard process.wait() != .stillRunning else { throw StillRunning() }
        return lines(waitMilliseconds: 0)
    }

    public struct StillRunning: Error {}

    /// Kills it.
    public func kill() { process.end() }

    private func lines(waitMilliseconds: CInt) -> [String] {
        var polled = pollfd(fd: output.number, events: Int16(POLLIN), revents: 0)
        while poll(&polled, 1, waitMilliseconds) > 0, polled.revents & Int16(POLLIN) != 0 {
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = read(output.number, &bytes, bytes.count)
            guard count > 0 else { break }
            text.withLock { $0 += String(decoding: bytes[..<count], as: UTF8.self) }
        }
        return text.withLock { $0.split(separator: "\n").map(String.init) }
    }
}
