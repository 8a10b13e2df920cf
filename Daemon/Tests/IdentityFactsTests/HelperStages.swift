import Foundation
import Glibc
import HelperProcesses
import HelperTestSupport
import ProcessFacts
import StoreTestSupport
import TerminalTestSupport
import UnixSocket

@testable import IdentityFacts

/// A helper behind a socket of the test's own, which is started again after each of its ends.
final class RunningHelper: Sendable {
    let socket: HelperSocket
    let manager: SpawnedProcess
    private let folder: TestFolder

    /// - Parameter isConfined: whether the real helper believes that AppArmor confines it.
    convenience init(isConfined: Bool = true) throws {
        try self.init([try NativeBuild.program("ostiary-identity")] + (isConfined ? ["--as-if-confined"] : []))
    }

    /// A helper that looks at nothing; see `false_helper.py`.
    convenience init(false mode: [String]) throws {
        try self.init(["/usr/bin/python3", NativeBuild.file("false_helper.py")] + mode)
    }

    private init(_ program: [String]) throws {
        folder = try TestFolder()
        let path = folder.path("socket")
        socket = HelperSocket(path: path, helperUserID: getuid(), managerUserID: getuid())
        manager = try SpawnedProcess(
            "/usr/bin/python3", [NativeBuild.file("service_manager.py"), path] + program)
        try eventually("somebody listens at the socket") {
            (try? HelperSocket.connect(to: path, CInt(SOCK_SEQPACKET.rawValue), listener: [getuid()])) != nil
        }
    }

    /// The process of the helper that runs; nil when none does.
    var process: Int32? { children(of: manager.processID).first }

    var helper: IdentityFacts.IdentityHelper { IdentityFacts.IdentityHelper(socket) }

    func facts(freshness: Duration = .seconds(1), patience: IdentityFacts.IdentityHelper.Patience = .init())
        -> HelperFacts
    {
        HelperFacts(IdentityFacts.IdentityHelper(socket, patience: patience), freshness: freshness)
    }
}

/// The children of a process whose main thread made them.
func children(of processID: Int32) -> [Int32] {
    let path = "/proc/\(processID)/task/\(processID)/children"
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    return text.split(separator: " ").compactMap { Int32($0) }
}

/// What a process executes, as this process sees it.
func executed(by processID: Int32) -> String? {
    try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(processID)/exe")
}

/// A process that executes a copy of sleep.
func sleeper(at path: String) throws -> SpawnedProcess {
    try FileManager.default.copyItem(atPath: "/usr/bin/sleep", toPath: path)
    let process = try SpawnedProcess(path, ["600"])
    try eventually("the copy runs") { executed(by: process.processID) == path }
    return process
}

/// Whether this user may have a mount namespace.
let hasNamespaces = (try? NativeBuild.output(of: "/usr/bin/unshare", ["-Urm", "/bin/true"])) != nil
