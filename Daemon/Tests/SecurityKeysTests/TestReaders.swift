import CardReaders
import Foundation
import Glibc
import StoreTestSupport
import TerminalTestSupport

/// A pcscd of the test's own, with two virtual readers (vsmartcard-vpcd).
///
/// pcscd knows one folder for its socket. It gets a mount of its own there, which needs root. libpcsclite reads the socket's place
/// from the environment, once for a process; so all instances use one folder, and one exists at a time.
final class TestReaders: Sendable {
    private static let daemon = "/usr/sbin/pcscd"
    private static let driver = "/usr/lib/pcsc/drivers/serial/libifdvpcd.so"
    private static let place = "/run/pcscd"

    private static let folder: Result<TestFolder, any Error> = Result {
        let folder = try TestFolder()
        setenv("PCSCLITE_CSOCK_NAME", folder.path("pcscd.comm"), 1)
        return folder
    }

    /// The ports behind which the readers wait for cards.
    let ports: [UInt16]
    private let reserved: ReservedPorts
    private let process: SpawnedProcess
    private let configuration: TestFolder

    /// Why none can be started here; nil when they can.
    static var obstacle: String? {
        guard FileManager.default.isExecutableFile(atPath: daemon), FileManager.default.fileExists(atPath: driver)
        else {
            return "pcscd or vsmartcard-vpcd is not installed"
        }
        return geteuid() == 0 ? nil : "a mount for pcscd's socket needs root"
    }

    init() throws {
        let folder = try Self.folder.get()
        for name in ["pcscd.comm", "pcscd.pid"] { unlink(folder.path(name)) }
        configuration = try TestFolder()
        reserved = try ReservedPorts()
        let port = UInt16(reserved.first)
        ports = [port, port + 1]
        let number = "0x" + String(port, radix: 16, uppercase: true)
        try """
        FRIENDLYNAME "Test reader"
        DEVICENAME /dev/null:\(number)
        LIBPATH \(Self.driver)
        CHANNELID \(number)

        """.write(toFile: configuration.path("readers"), atomically: true, encoding: .utf8)
        let script = """
            set -e
            mount -t tmpfs none /run
            mkdir \(Self.place)
            mount --bind "$1" \(Self.place)
            exec \(Self.daemon) --foreground --critical --config "$2"
            """
        // The folder of the test lies outside of /run.
        process = try SpawnedProcess(
            "/usr/bin/unshare", ["--mount", "/bin/sh", "-c", script, "sh", folder.path, configuration.path])
        try eventually("pcscd has two readers") { CardReaders().count == 2 }
    }

    deinit { stop() }

    /// Kills pcscd.
    func stop() { process.end() }
}
