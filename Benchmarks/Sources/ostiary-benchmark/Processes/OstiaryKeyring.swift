import Foundation
import Glibc
import OstiaryClient
import UnixSocket

/// `ostiary-secrets` on a bus of its own, with a daemon of its own, whose store is open and has items.
final class OstiaryKeyring {
    static let door = "ostiary-secrets"

    let bus: SessionBus
    private let door: ChildProcess
    private let daemon: PrivateDaemon

    /// - Parameters:
    ///   - folder: where the store lies; it is made.
    ///   - itemCount: of items that are there before the door starts, which is told of each later one.
    init(in folder: String, _ programs: DoorPrograms, itemCount: Int) throws {
        guard mkdir(folder, 0o700) == 0 else { throw SystemCallError("mkdir", subject: folder) }
        let folders = try DaemonFolders.foundByEnvironment(in: folder)
        daemon = try PrivateDaemon(program: programs.path("ostiaryd"), in: folders)
        try daemon.start()
        let client = folders.newClient()
        try programs.register([Self.door], with: client)
        try FreeItem.add(0..<itemCount, by: client)
        bus = try SessionBus(in: folder)
        door = try Self.startDoor(programs, folders, bus)
    }

    /// The door alone, in front of another daemon, which knows it.
    static func startDoor(_ programs: DoorPrograms, _ folders: DaemonFolders, _ bus: SessionBus) throws -> ChildProcess
    {
        try ChildProcess(
            programs.path(door), [], environment: folders.environment + ["DBUS_SESSION_BUS_ADDRESS=" + bus.address])
    }

    /// Ends all of it, the door first.
    func stop() throws {
        door.end()
        try daemon.stop()
    }
}
