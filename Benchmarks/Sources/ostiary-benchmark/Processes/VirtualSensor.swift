import Foundation
import Glibc
import Synchronization
import UnixSocket

/// The real fprintd and polkitd (for a plain user a stand-in) on a bus of their own, with a reader that libfprint plays, and a
/// stand-in for systemd-logind that says that this process's user sits at the machine. One finger is enrolled.
final class VirtualSensor {
    /// The socket of the bus.
    var bus: String { privateBus.path }
    private let privateBus: PrivateBus
    private var processes: [ChildProcess] = []
    private let sensor: String
    private let environment: [String]
    private let results: Results

    private static let fprint = "net.reactivated.Fprint"
    private static let device = "/net/reactivated/Fprint/Device/0"
    private static let logind = "org.freedesktop.login1"
    private static let skin = "enrolled"

    /// - Parameter permitsAll: whether every program may do everything, and not only those of this process's user. The machine's daemon
    ///   has an account that only the package's rule permits a verification.
    init(in folder: String, permitsAll: Bool = false) throws {
        // polkitd runs as a user of its own.
        guard chmod(folder, 0o711) == 0 else { throw SystemCallError("chmod", subject: folder) }
        privateBus = try PrivateBus(in: folder)
        sensor = folder + "/sensor"
        environment = ["DBUS_SYSTEM_BUS_ADDRESS=unix:path=\(privateBus.path)"]
        results = Results()
        try startPolkit(isStandIn: permitsAll || geteuid() != 0)
        try startLogind()
        mkdir(folder + "/templates", 0o700)
        try start(
            "/usr/libexec/fprintd", ["-t"],
            ["FP_VIRTUAL_DEVICE=\(sensor)", "STATE_DIRECTORY=\(folder)/templates"])
        try waitFor(Self.fprint)
        try enroll()
        try watchResults()
    }

    /// When fprintd's last result of a verification was on the bus, on ``MonotonicClock``.
    var lastResultTime: UInt64 { results.last }

    /// Touches the reader with the enrolled finger as soon as it waits for one.
    func touch() throws {
        while try !call(
            Self.fprint, Self.device, "org.freedesktop.DBus.Properties.Get", [Self.fprint + ".Device", "finger-needed"]
        ).contains("true") { usleep(10_000) }
        let socket = try UnixSocket.connect(to: sensor)
        try Array("SCAN \(Self.skin)".utf8).withUnsafeBytes { try socket.send($0) }
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            // The reader closes the connection when it has taken the touch.
            while let received = try? socket.receive(into: buffer, expecting: []), received.count > 0 {}
        }
    }

    // MARK: starting

    private func start(
        _ program: String, _ arguments: [String], _ variables: [String] = [], output: CInt? = nil
    ) throws {
        processes.append(
            try ChildProcess(
                program, arguments, environment: environment + variables, streams: .init(output: output)))
    }

    /// Only root can start polkitd. For others a stand-in permits everything: a verification asks it nothing.
    private func startPolkit(isStandIn: Bool) throws {
        let name = "org.freedesktop.PolicyKit1"
        guard isStandIn else {
            try start("/usr/lib/polkit-1/polkitd", ["--no-debug"])
            return try waitFor(name)
        }
        try start("/usr/bin/python3", ["-m", "dbusmock", "--template", "polkitd"])
        try retrying {
            try call(name, "/org/freedesktop/PolicyKit1/Authority", "org.freedesktop.DBus.Mock.AllowUnknown", ["true"])
        }
    }

    private func startLogind() throws {
        try start("/usr/bin/python3", ["-m", "dbusmock", "--template", "logind"])
        let (path, mock) = ("/org/freedesktop/login1", "org.freedesktop.DBus.Mock.")
        try retrying { try call(Self.logind, path, Self.logind + ".Manager.ListSessions") }
        try call(Self.logind, path, mock + "AddSession", ["here", "seat0", "\(getuid())", "somebody", "true"])
        // Every process belongs to this session.
        let here = "ret = dbus.ObjectPath('\(path)/session/here')"
        try call(
            Self.logind, path, mock + "AddMethod", [Self.logind + ".Manager", "GetSessionByPID", "u", "o", here])
    }

    private func enroll() throws {
        let enrolling = try ChildProcess(
            "/usr/bin/fprintd-enroll", ["-f", "right-index-finger"], environment: environment)
        for _ in 1...5 { try touch() }
        try enrolling.waitForSuccess()
    }

    private func watchResults() throws {
        let output = Pipe()
        let match = "type='signal',interface='\(Self.fprint).Device',member='VerifyStatus'"
        try start(
            "/usr/bin/stdbuf", ["-oL", "/usr/bin/dbus-monitor", "--system", "--profile", match],
            output: output.fileHandleForWriting.fileDescriptor)
        try output.fileHandleForWriting.close()
        results.begin(reading: output.fileHandleForReading)
    }

    // MARK: the bus

    private func waitFor(_ name: String) throws {
        let driver = "org.freedesktop.DBus"
        try retrying {
            let answer = try call(driver, "/org/freedesktop/DBus", driver + ".NameHasOwner", [name])
            guard answer.contains("true") else { throw SystemCallError("connect", subject: name, code: ENOENT) }
        }
    }

    private func retrying(_ body: () throws -> Void) throws {
        for _ in 0..<500 {
            if (try? body()) != nil { return }
            usleep(20_000)
        }
        try body()
    }

    @discardableResult
    private func call(_ name: String, _ path: String, _ method: String, _ arguments: [String] = []) throws -> String {
        let output = Pipe()
        let process = try ChildProcess(
            "/usr/bin/gdbus",
            ["call", "--system", "--dest", name, "--object-path", path, "--method", method, "--"] + arguments,
            environment: environment, streams: .init(output: output.fileHandleForWriting.fileDescriptor))
        try output.fileHandleForWriting.close()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        try process.waitForSuccess()
        return text
    }

    /// Ends what was started, the last one first.
    deinit { while let last = processes.popLast() { last.end() } }
}

/// Reads what dbus-monitor tells of results.
private final class Results: Sendable {
    private let time = Mutex<UInt64>(0)

    var last: UInt64 { time.withLock { $0 } }

    func begin(reading output: FileHandle) {
        let thread = Thread { [self] in
            while true {
                let part = output.availableData
                guard !part.isEmpty else { return }
                let now = MonotonicClock.now()
                // Of one verification there is one result; further lines are of its end.
                if String(decoding: part, as: UTF8.self).contains("VerifyStatus") { time.withLock { $0 = now } }
            }
        }
        thread.start()
    }
}
