import Broker
import Foundation
import Glibc
import Owners
import UnixSocket

/// Starts the daemon in the background and returns when it accepts connections.
struct Detachment {
    private let options: Ostiaryd
    private let user: SystemUser
    /// The file that takes the background daemon's log; a start empties it when it has grown.
    private var logPath: String { options.stateDirectory + "/ostiaryd.log" }
    private static let logByteCount = 1024 * 1024

    init(of options: Ostiaryd, as user: SystemUser) {
        self.options = options
        self.user = user
    }

    func start() throws {
        try PrivateFolder.make(options.runtimeDirectory, chosenBy: "XDG_RUNTIME_DIR", userID: user.id)
        try PrivateFolder.make(options.stateDirectory, chosenBy: "XDG_STATE_HOME", userID: user.id)
        let report = try ReadinessReport.Pipe()
        try spawn(report)
        switch report.read() {
        case ReadinessReport.readyText: return
        case let complaint where complaint.contains(ReadinessReport.alreadyRunningMark): try waitForOther()
        case let complaint:
            throw StartError(complaint.isEmpty ? "The daemon ended without saying why; see \(logPath)." : complaint)
        }
    }

    private func spawn(_ report: ReadinessReport.Pipe) throws {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        var arguments = [
            "ostiaryd", "--reports-readiness", "--runtime-directory", options.runtimeDirectory, "--state-directory",
            options.stateDirectory, "--applications-directory", options.applicationsDirectory,
            "--associations-directory", options.associationsDirectory,
        ]
        arguments += options.tests.arguments
        if let configuration = options.configuration { arguments += ["--configuration", configuration] }
        if let name = options.adoptUserName { arguments += ["--adopt-user-name", name] }
        if options.replaceDamagedLog { arguments.append("--replace-damaged-log") }
        let log = try openLog()
        let environment = ["PATH=/usr/bin:/bin", "LANG=C.UTF-8", "SWIFT_BACKTRACE=enable=no"]
        do throws(SystemCallError) {
            _ = try ProgramStart.spawn(
                program: own, arguments: arguments, environment: environment,
                descriptors: [-1, -1, log.number, report.writing], leadsSession: true)
        } catch { throw StartError("\(error)") }
    }

    private func openLog() throws -> SharedDescriptor {
        var status = stat()
        let isLarge = unsafe stat(logPath, &status) == 0 && status.st_size > Self.logByteCount
        let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | (isLarge ? O_TRUNC : 0)
        let number = unsafe open(logPath, flags, 0o600)
        guard number >= 0 else { throw StartError("\(SystemCallError("open", subject: logPath))") }
        return SharedDescriptor(Descriptor(owning: number))
    }

    /// Two programs may start the daemon at once. The second one waits until the daemon of the first accepts
    /// connections.
    private func waitForOther() throws {
        let path = options.runtimeDirectory + "/ostiaryd.socket"
        for round in 0..<250 {
            do throws(SystemCallError) {
                _ = try UnixSocket.connect(to: path)
                return
            } catch { usleep(20_000) }
            // By then it has locked the folder of its socket, if that is this one.
            if round == 50, isRuntimeDirectoryFree { throw StartError(listensElsewhere) }
        }
        throw StartError(
            "Another ostiaryd holds the lock in \(options.runtimeDirectory) but does not accept connections; stop it.")
    }

    private var isRuntimeDirectoryFree: Bool { (try? FolderLock(on: options.runtimeDirectory)) != nil }

    private var listensElsewhere: String {
        "Your daemon runs already, but its socket is not in \(options.runtimeDirectory). Set XDG_RUNTIME_DIR as in the session "
            + "that started it, usually to /run/user/\(user.id)."
    }
}

/// A starting daemon's report to the program that started it: on descriptor 3, one line or a complaint.
enum ReadinessReport {
    static let readyText = "ready"
    /// Marks a complaint about another daemon.
    static let alreadyRunningMark = "[already running]"
    private static let descriptor: CInt = 3

    /// Whether the descriptor is a pipe.
    static var hasReader: Bool {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
    }

    static func ready() { write(readyText) }

    static func failed(_ complaint: String) { write(complaint) }

    private static func write(_ text: String) {
        let bytes = Array(text.utf8)
        // The reader may be gone; the daemon serves all the same.
        _ = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress!, $0.count) }
        close(descriptor)
    }

    /// The reading side.
    final class Pipe {
        private let reading: SharedDescriptor
        private var writingEnd: SharedDescriptor?
        var writing: CInt { writingEnd?.number ?? -1 }

        init() throws {
            var ends: [CInt] = [-1, -1]
            guard unsafe pipe(&ends) == 0 else { throw StartError("\(SystemCallError("pipe"))") }
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            reading = SharedDescriptor(Descriptor(owning: ends[0]))
            writingEnd = SharedDescriptor(Descriptor(owning: ends[1]))
        }

        /// Waits until the daemon has reported or ended.
        func read() -> String {
            writingEnd = nil
            var bytes = [UInt8](repeating: 0, count: 4096)
            var count = 0
            while count < bytes.count {
                let got = unsafe bytes.withUnsafeMutableBytes {
                    unsafe Glibc.read(reading.number, $0.baseAddress! + count, $0.count - count)
                }
                guard got > 0 else { break }
                count += got
            }
            return String(decoding: bytes[..<count], as: UTF8.self)
        }
    }
}
