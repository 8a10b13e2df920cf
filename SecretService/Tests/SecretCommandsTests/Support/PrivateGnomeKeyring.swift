import DaemonTestSupport
import Foundation
import Glibc
import SecretProgramSupport

/// Debian's gnome-keyring on a bus of a test's own, with its keyring open.
final class PrivateGnomeKeyring {
    static let program = "/usr/bin/gnome-keyring-daemon"
    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: program) }

    let address: String
    private let folder: TestFolder
    private let bus = Process()
    private var keyring: Process?

    init() throws {
        folder = try TestFolder()
        for name in ["home", "run", "data"] {
            try FileManager.default.createDirectory(
                atPath: folder.file(name), withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700])
        }
        address = "unix:path=\(folder.file("run/bus"))"
        try folder.write(Self.configuration(listeningAt: address), to: "bus.conf")
        bus.executableURL = URL(fileURLWithPath: "/usr/bin/dbus-daemon")
        bus.arguments = ["--config-file=\(folder.file("bus.conf"))", "--nofork", "--nopidfile"]
        bus.standardInput = FileHandle.nullDevice
        bus.standardError = FileHandle.nullDevice
        try bus.run()
        try eventually("the bus listens") { (try? BusProgram(address)) != nil }
        try start()
    }

    deinit {
        end()
        kill(bus.processIdentifier, SIGKILL)
        bus.waitUntilExit()
    }

    /// Of a bus that starts nothing by itself.
    private static func configuration(listeningAt address: String) -> String {
        """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <type>session</type>
          <listen>\(address)</listen>
          <auth>EXTERNAL</auth>
          <policy context="default">
            <allow user="*"/> <allow own="*"/> <allow send_destination="*"/> <allow receive_sender="*"/>
            <allow send_type="signal"/> <allow send_type="method_call"/>
          </policy>
        </busconfig>
        """
    }

    /// Starts it on what is in its folder.
    ///
    /// - Parameter isUnlocked: false for a keyring that its person would have to unlock, and there is no program here that asks them.
    func start(isUnlocked: Bool = true) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.program)
        process.arguments = ["--foreground", "--components=secrets"] + (isUnlocked ? ["--unlock"] : [])
        process.environment = [
            "HOME": folder.file("home"), "XDG_DATA_HOME": folder.file("home/data"),
            "XDG_RUNTIME_DIR": folder.file("run"), "DBUS_SESSION_BUS_ADDRESS": address, "PATH": "/usr/bin:/bin",
        ]
        let password = Pipe()
        process.standardInput = password
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        // Of a keyring that holds nothing but a test's items.
        if isUnlocked { try password.fileHandleForWriting.write(contentsOf: Data("keyring".utf8)) }
        try password.fileHandleForWriting.close()
        keyring = process
        try eventually("gnome-keyring shows its keyring") {
            try SecretProgram(address).property(SecretProgram.root, "Service", "Collections").paths?
                .contains(SecretProgram.login) == true
        }
    }

    /// Ends it the hard way.
    func end() {
        guard let keyring, keyring.isRunning else { return }
        kill(keyring.processIdentifier, SIGKILL)
        keyring.waitUntilExit()
    }

    /// Stores so many items: `Label N`, `number=N`, `secret N`.
    func fill(_ count: Int) throws {
        let program = try SecretProgram(address)
        let session = try program.openSession()
        for number in 0..<count {
            _ = try program.create("Label \(number)", ["number": "\(number)"], "secret \(number)", session: session)
        }
    }

    /// The paths of all items, with their labels.
    func contents() throws -> [String: String] {
        let program = try SecretProgram(address)
        let paths = try program.property(SecretProgram.login, "Collection", "Items").paths ?? []
        return try paths.reduce(into: [:]) { found, path in
            found[path] = try program.property(path, "Item", "Label").text
        }
    }
}

/// Waits until something holds; throws when it never does.
func eventually(_ what: String, seconds: Double = 120, _ condition: () throws -> Bool) throws {
    let end = ContinuousClock.now + .seconds(seconds)
    while true {
        // What is not there yet answers with an error.
        if (try? condition()) == true { return }
        guard ContinuousClock.now < end else { throw TestSupportError("It never came to pass that \(what).") }
        usleep(10_000)
    }
}
