public import EnrolledTemplates
import Foundation
import Glibc
import StoreTestSupport
import TerminalTestSupport
import UnixSocket

/// The real `ostiary-templates` behind a socket of the test's own. systemd's own program starts it for each connection.
public final class TemplatesHelper {
    public let socketPath: String
    /// fprintd's folder.
    public let folder: String
    private let place: TestFolder
    private let process: SpawnedProcess

    /// - Parameters:
    ///   - folder: nil for one of the test's own.
    ///   - userID: as whom it runs; nil for the test's user.
    ///   - trusted: the name of the account that may ask for any user; nil for none.
    public init(folder: String? = nil, asUser userID: UInt32? = nil, trusting trusted: String? = nil) throws {
        place = try TestFolder()
        self.folder = folder ?? place.path("fprint")
        // Other users connect; the socket's folder may be one that only they can write.
        _ = chmod(place.path, 0o777)
        let socketPath = place.path("socket")
        self.socketPath = socketPath
        let wrapper = userID.map { ["/usr/bin/setpriv", "--reuid=\($0)", "--regid=\($0)", "--clear-groups"] } ?? []
        let command =
            wrapper + [
                "/usr/bin/systemd-socket-activate", "--accept", "--inetd", "--listen=\(socketPath)",
                Build.program("ostiary-templates"), self.folder,
            ] + [trusted].compactMap(\.self)
        process = try SpawnedProcess(command[0], Array(command.dropFirst()))
        try eventually("the helper's socket is there") { access(socketPath, F_OK) == 0 }
        try eventually("somebody listens at it") { (try? UnixSocket.connect(to: socketPath)) != nil }
        _ = chmod(socketPath, 0o777)
    }

    /// The name that fprintd files the test's templates under.
    public static let userName = String(cString: getpwuid(getuid()).pointee.pw_name)

    /// - Parameter userID: the owner of the templates; nil for the test's user.
    public func client(
        key: UInt8 = 7, of userID: UInt32? = nil, isFollowed: @escaping @Sendable () -> Bool = { true }
    ) -> EnrolledTemplates {
        EnrolledTemplates(
            socketPath: socketPath, key: [UInt8](repeating: key, count: 32), of: userID ?? getuid(),
            serverUserID: getuid(),
            isFollowed: isFollowed)
    }

    /// Writes a template of the test's user, or of another one, where fprintd would.
    public func write(
        _ contents: String, _ finger: String = "7", of user: String = userName, device: String = "driver/0"
    )
        throws
    {
        let folder = "\(folder)/\(user)/\(device)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(contents.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(finger)"), options: .atomic)
    }

    public func path(_ finger: String = "7", of user: String = userName) -> String {
        "\(folder)/\(user)/driver/0/\(finger)"
    }

    /// How many helpers serve a connection now.
    public func servingCount() throws -> Int {
        let names = try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { pid_t($0) }
        return names.count { processID in
            guard let arguments = try? String(contentsOfFile: "/proc/\(processID)/cmdline", encoding: .utf8) else {
                return false
            }
            return arguments.hasPrefix(Build.program("ostiary-templates") + "\0" + folder)
        }
    }

    /// Kills the helpers that serve a connection now.
    public func killServing() throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") {
            guard let processID = pid_t(name),
                let arguments = try? String(contentsOfFile: "/proc/\(processID)/cmdline", encoding: .utf8),
                arguments.hasPrefix(Build.program("ostiary-templates") + "\0" + folder)
            else { continue }
            kill(processID, SIGKILL)
        }
    }
}
