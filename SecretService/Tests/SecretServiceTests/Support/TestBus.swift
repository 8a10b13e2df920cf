import DaemonTestSupport
import Foundation
import Glibc
import UnixSocket

/// A message bus of a test's own.
final class TestBus {
    let address: String
    private let folder: URL
    private let process = Process()

    /// - Parameters:
    ///   - program: what runs it.
    ///   - limits: further ones of its configuration.
    ///   - isListenedForByAnother: whether another process listens at its socket than the one that runs it, as with systemd.
    ///   - isInOwnNamespace: whether it counts processes in a PID namespace of its own.
    init(
        program: URL = URL(fileURLWithPath: "/usr/bin/dbus-daemon"), limits: [String: Int] = [:],
        isListenedForByAnother: Bool = false, isInOwnNamespace: Bool = false
    ) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("ostiary-bus-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let socket = folder.appendingPathComponent("bus").path
        address = "unix:path=\(socket)"
        let configuration = folder.appendingPathComponent("bus.conf")
        try Data(Self.configuration(listeningAt: address, limits).utf8).write(to: configuration)
        let options = ["--config-file=\(configuration.path)", "--nofork", "--nopidfile"]
        if isListenedForByAnother {
            process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
            process.arguments = ["-c", Self.passingListener, socket, program.path, "--address=systemd:"] + options
        } else if isInOwnNamespace {
            process.executableURL = Self.unshare
            process.arguments = Self.namespaceOptions + [program.path] + options
        } else {
            process.executableURL = program
            process.arguments = options
        }
        process.standardInput = FileHandle.nullDevice
        try process.run()
        // The file is there a moment before anybody listens.
        try eventually("the bus listens") { (try? UnixSocket.connect(to: socket)) != nil }
    }

    deinit {
        stop()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Ends the bus.
    func stop() {
        guard process.isRunning else { return }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    private static let unshare = URL(fileURLWithPath: "/usr/bin/unshare")
    private static let namespaceOptions = ["--user", "--map-current-user", "--pid", "--fork", "--kill-child"]

    /// Whether this user may make namespaces, which some systems forbid.
    static let hasNamespaces: Bool = {
        let process = Process()
        process.executableURL = unshare
        process.arguments = namespaceOptions + ["/bin/true"]
        process.standardError = FileHandle.nullDevice
        do { try process.run() } catch { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    /// A child listens, and the process itself becomes the bus, which gets the socket as systemd passes one. The child ends with it.
    private static let passingListener = """
        import os, socket, sys
        path, program, options = sys.argv[1], sys.argv[2], sys.argv[2:]
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        ready, end = os.pipe(), os.pipe()
        if os.fork() == 0:
            os.close(end[1])
            listener.listen(64)
            os.write(ready[1], b"x")
            os.read(end[0], 1)
            os._exit(0)
        os.read(ready[0], 1)
        os.dup2(listener.fileno(), 3)
        for descriptor in (3, end[1]): os.set_inheritable(descriptor, True)
        os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
        os.execv(program, options)
        """

    /// With the limits of a session's bus: those that it has by itself are lower, and would keep a flood from the service.
    private static func configuration(listeningAt address: String, _ limits: [String: Int]) -> String {
        """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <listen>\(address)</listen>
          <auth>EXTERNAL</auth>
          <policy context="default">
            <allow user="*"/> <allow own="*"/> <allow send_destination="*"/> <allow receive_sender="*"/>
            <allow send_type="signal"/> <allow send_type="method_call"/>
          </policy>
          <limit name="max_replies_per_connection">50000</limit>
          <limit name="max_connections_per_user">100000</limit>
          <limit name="max_completed_connections">100000</limit>
          <limit name="max_outgoing_bytes">1000000000</limit>
          \(limits.map { #"<limit name="\#($0.key)">\#($0.value)</limit>"# }.joined())
        </busconfig>
        """
    }
}

/// Waits until something holds; throws when it never does.
func eventually(_ what: String, seconds: Double = 120, _ condition: () throws -> Bool) throws {
    let end = ContinuousClock.now + .seconds(seconds)
    while try !condition() {
        guard ContinuousClock.now < end else { throw TestSupportError("It never came to pass that \(what).") }
        usleep(5_000)
    }
}

/// A program of its own process (`secret-program`).
final class ForeignProgram {
    private let process = Process()
    private let output = Pipe()

    /// Starts it.
    init(_ bus: TestBus, _ arguments: String...) throws {
        process.executableURL = BuiltProgram.named("secret-program")
        process.arguments = [bus.address] + arguments
        process.environment = ["PATH": "/usr/bin:/bin"]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        try process.run()
    }

    deinit { end() }

    var processID: Int32 { process.processIdentifier }

    /// Whether there is something to read of it.
    var hasWritten: Bool {
        var watched = pollfd(fd: output.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)
        return poll(&watched, 1, 0) > 0
    }

    /// Waits for its end; returns its lines.
    func lines() -> [String] {
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    func end() {
        guard process.isRunning else { return }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}
