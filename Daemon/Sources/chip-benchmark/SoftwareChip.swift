import Foundation
import Glibc

/// A folder of its own, removed when let go.
final class TemporaryFolder {
    let path: String

    init() throws {
        var template = Array("/tmp/ostiary-chip-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw CocoaError(.fileWriteUnknown) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }  // What stays behind is the system's to clear.
}

/// swtpm over TCP, with a state of its own.
final class SoftwareChip {
    private let folder: TemporaryFolder
    private let process: Process
    private let port: Int

    struct DidNotStart: Error {}

    init() throws {
        let folder = try TemporaryFolder()
        for _ in 0..<20 {
            let port = Int.random(in: 20_000..<30_000)
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/swtpm")
            process.arguments = [
                "socket", "--tpm2", "--tpmstate", "dir=\(folder.path)", "--server", "type=tcp,port=\(port)", "--ctrl",
                "type=tcp,port=\(port + 1)", "--flags", "not-need-init,startup-clear",
            ]
            process.standardError = FileHandle.nullDevice
            try process.run()
            usleep(500_000)  // It ends at once if a port is another's.
            guard process.isRunning else { continue }
            (self.folder, self.process, self.port) = (folder, process, port)
            return
        }
        throw DidNotStart()
    }

    deinit {
        process.terminate()
        process.waitUntilExit()
    }

    var configuration: String { "swtpm:host=127.0.0.1,port=\(port)" }
}
