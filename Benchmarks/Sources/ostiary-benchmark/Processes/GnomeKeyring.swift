import Foundation
import Glibc

/// Debian's gnome-keyring on a bus of its own, its keyring open.
final class GnomeKeyring {
    let bus: SessionBus
    private let keyring: ChildProcess

    init(in folder: String) throws {
        let (home, runtime) = (folder + "/keyring-home", folder + "/keyring-run")
        for path in [home, runtime] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            guard chmod(path, 0o700) == 0 else { throw CocoaError(.fileWriteNoPermission) }
        }
        bus = try SessionBus(in: runtime)
        let environment = [
            "HOME=" + home, "XDG_DATA_HOME=\(home)/data", "XDG_RUNTIME_DIR=" + runtime,
            "DBUS_SESSION_BUS_ADDRESS=" + bus.address,
        ]
        let password = Pipe()
        keyring = try ChildProcess(
            "/usr/bin/gnome-keyring-daemon", ["--foreground", "--unlock", "--components=secrets"],
            environment: environment, streams: .init(input: password.fileHandleForReading.fileDescriptor))
        // Of a keyring that holds nothing but the benchmark's item.
        try password.fileHandleForWriting.write(contentsOf: Data("keyring".utf8))
        try password.fileHandleForWriting.close()
    }
}
