import Foundation
public import Glibc
import StoreTestSupport
import TerminalTestSupport
import UnixSocket

/// A message bus of the test's own in the place of the system's, under a path that a test can turn to another bus.
public final class PrivateBus {
    /// A well-known name that nobody may have on it.
    public static let forbiddenName = "org.example.Forbidden"

    /// What a daemon is told; a link to the socket of the bus that runs.
    public let path: String
    private let folder: TestFolder
    private var process: SpawnedProcess?
    private var generation = 0
    private var socket: String { folder.path("bus-\(generation)") }
    private let servicesFolder: String?

    /// - Parameters:
    ///   - servicesFolder: holds `.service` files of services that the bus may start.
    ///   - isForAllUsers: whether processes of other users find it.
    public init(servicesFolder: String? = nil, isForAllUsers: Bool = false) throws {
        folder = try TestFolder()
        guard !isForAllUsers || chmod(folder.path, 0o711) == 0 else { throw SystemCallError("chmod") }
        self.servicesFolder = servicesFolder
        path = folder.path("system_bus_socket")
        try startAnother()
        try publish()
    }

    /// Ends the bus that runs. Its connections are lost.
    public func stop() { process = nil }

    /// Makes the bus stand still. It still accepts connections.
    public func pause() { process?.signal(SIGSTOP) }

    /// Starts another bus, which a daemon finds when it is published.
    public func startAnother() throws {
        generation += 1
        let configuration = folder.path("bus-\(generation).conf")
        try Data(Self.configuration(listeningAt: socket, servicesFolder).utf8).write(
            to: URL(fileURLWithPath: configuration))
        process = try SpawnedProcess(
            "/usr/bin/dbus-daemon", ["--config-file=\(configuration)", "--nofork", "--nopidfile"])
        // The file is there a moment before anybody listens.
        try eventually("the bus listens") { (try? UnixSocket.connect(to: socket)) != nil }
    }

    /// Makes ``path`` lead to the bus that runs.
    public func publish() throws {
        _ = unlink(path)
        guard symlink(socket, path) == 0 else { throw SystemCallError("symlink", subject: path) }
    }

    private static func configuration(listeningAt socket: String, _ servicesFolder: String?) -> String {
        """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <listen>unix:path=\(socket)</listen>
          <auth>EXTERNAL</auth>
          \(servicesFolder.map { "<servicedir>\($0)</servicedir>" } ?? "")
          <policy context="default">
            <allow user="*"/> <allow own="*"/> <allow send_destination="*"/> <allow receive_sender="*"/>
            <allow send_type="signal"/> <allow send_type="method_call"/> <deny own="\(forbiddenName)"/>
          </policy>
        </busconfig>
        """
    }

    /// The address of the bus that runs.
    public var address: String { "unix:path=\(socket)" }

    /// Where programs find the bus.
    public var environment: [String] { ["PATH=/usr/bin:/bin", "DBUS_SYSTEM_BUS_ADDRESS=\(address)"] }

    // MARK: somebody on the bus

    /// Calls a method as a connection of its own; what it answers, as text. Arguments are in GVariant's text format.
    @discardableResult
    public func call(_ destination: String, _ path: String, _ method: String, _ arguments: [String] = []) throws
        -> String
    {
        try gdbus(
            ["call", "--system", "--dest", destination, "--object-path", path, "--method", method, "--"] + arguments)
    }

    /// Waits until somebody has a well-known name; throws after two minutes.
    public func waitForOwner(of name: String) throws { _ = try gdbus(["wait", "--system", "--timeout", "120", name]) }

    /// Sends a signal as a connection of its own that has no name: to all, or to one connection.
    public func emit(_ path: String, _ signal: String, _ arguments: [String] = [], to destination: String? = nil) throws
    {
        let receiver = destination.map { ["--dest", $0] } ?? []
        _ = try gdbus(["emit", "--system", "--object-path", path, "--signal", signal] + receiver + ["--"] + arguments)
    }

    private func gdbus(_ arguments: [String]) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/gdbus")
        process.arguments = arguments
        process.environment = ["PATH": "/usr/bin:/bin", "DBUS_SYSTEM_BUS_ADDRESS": address]
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CallFailed(output: text) }
        return text
    }

    public struct CallFailed: Error {
        public let output: String
    }

    /// The unique name of a process's connection; nil when it has none.
    public func name(ofProcess processID: pid_t) throws -> String? { try names(ofProcess: processID).first }

    /// The unique names of a process's connections.
    public func names(ofProcess processID: pid_t) throws -> [String] {
        let driver = ("org.freedesktop.DBus", "/org/freedesktop/DBus")
        let names = try call(driver.0, driver.1, "org.freedesktop.DBus.ListNames").matches(of: /:[0-9]+\.[0-9]+/)
        return names.map { String($0.output) }.filter { name in
            // Who asked for the names is gone by now.
            let answer = try? call(driver.0, driver.1, "org.freedesktop.DBus.GetConnectionUnixProcessID", [name])
            return answer?.contains("uint32 \(processID),") == true
        }
    }
}
