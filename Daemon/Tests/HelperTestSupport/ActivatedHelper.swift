import Foundation
import Glibc
package import HelperProcesses
package import StoreTestSupport
import TerminalTestSupport
import UnixSocket

/// A socket of the test's own. systemd's own program starts a helper behind it for each connection.
package final class ActivatedHelper: Sendable {
    package let socket: HelperSocket
    package var road: HelperRoad { .activated(socket) }
    package let folder: TestFolder
    private let process: SpawnedProcess

    /// - Parameters:
    ///   - program: the absolute path of the helper.
    ///   - arguments: for programs that are no helpers of ours.
    ///   - environment: of the helper, as `NAME=VALUE`.
    ///   - userID: the user that it runs as; nil for the test's user.
    ///   - expected: the user that it should run as; nil for `userID`.
    package init(
        _ program: String, _ arguments: [String] = [], environment: [String] = [], asUser userID: UInt32? = nil,
        expecting expected: UInt32? = nil
    ) throws {
        folder = try TestFolder()
        let path = folder.path("socket")
        socket = HelperSocket(
            path: path, helperUserID: expected ?? userID ?? getuid(), managerUserID: getuid())
        let account = userID.map { ["/usr/bin/setpriv", "--reuid=\($0)", "--regid=\($0)", "--clear-groups"] } ?? []
        // A service leads a session of its own.
        let wrapper = ["/usr/bin/setsid"] + account
        process = try SpawnedProcess(
            "/usr/bin/systemd-socket-activate",
            ["--accept", "--seqpacket", "--listen=\(path)"] + environment.map { "--setenv=\($0)" } + wrapper
                + [program] + arguments)
        try eventually("somebody listens at the socket") {
            (try? HelperSocket.connect(to: path, CInt(SOCK_SEQPACKET.rawValue), listener: [getuid()])) != nil
        }
    }

    deinit {
        for helper in helpers() { kill(-helper, SIGKILL) }
    }

    /// The running helpers, oldest first. Each leads its process group.
    package func helpers() -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { Int32($0) }.sorted().filter { processID in
            guard let text = try? String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8) else {
                return false
            }
            // The program's name, in brackets, may hold anything.
            let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
            return fields.count > 2 && fields[1] != "Z" && fields[2] == "\(process.processID)"
        }
    }

    /// Ends the listener. Its socket stays in the folder.
    package func stopListening() {
        process.signal(SIGKILL)
        _ = process.wait()
    }
}
