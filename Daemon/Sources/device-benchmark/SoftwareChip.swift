import Foundation
import Glibc
import StoreTestSupport

/// swtpm over TCP, with a state of its own.
final class SoftwareChip {
    private let folder: TestFolder
    private let process: Process
    private let port: Int

    struct DidNotStart: Error {}

    init() throws {
        let folder = try TestFolder()
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
