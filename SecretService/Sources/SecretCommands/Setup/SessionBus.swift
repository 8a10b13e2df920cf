import Foundation
import Glibc
import MessageBus
import SecretItems
import UnixSocket

/// The program that has a name on the bus.
struct NameOwner: Equatable, Sendable {
    /// The unique name of its connection.
    let connection: String
    /// Nil where the bus does not say it.
    let processID: UInt32?
    /// The name of the program's file, for people; nil where it cannot be told.
    let program: String?

    /// Whether it is the service of this package, as far as its file's name says so.
    var isOurs: Bool { program == SecretsProgram.name }

    /// For people, for example `gnome-keyring-daemon (process 4711)`.
    var words: String {
        let name = program?.shownName ?? "A program"
        return processID.map { "\(name) (process \($0))" } ?? name
    }
}

/// What a command learns of the session's bus and tells it.
protocol SessionBusView {
    /// Nil while nobody has the name.
    func owner(of name: String) throws(SecretsFailure) -> NameOwner?
    /// Has the bus read its files again; false if it does not.
    func reloadConfiguration() -> Bool
    /// What the user's service manager says of a unit's file, for example `enabled`; nil if there is none, or no such manager.
    func unitState(_ unit: String) -> String?
}

/// A message bus, as a program of the session uses it. For one thread.
final class SessionBus: SessionBusView {
    let bus: Bus

    init(_ address: BusAddress) throws(SecretsFailure) {
        do throws(BusError) { bus = try Bus(address) } catch {
            throw .withoutBus("The message bus cannot be used (\(error)). Run the command in a session that has one.")
        }
    }

    /// Nil in a shell without a session, where there is nobody to tell.
    static func ofThisSession() -> SessionBus? {
        do throws(SecretsFailure) { return try SessionBus(.session) } catch { return nil }
    }

    func owner(of name: String) throws(SecretsFailure) -> NameOwner? {
        do throws(BusError) {
            let connection = try ask("GetNameOwner", name).readText()
            return Self.owner(connection, try processID(of: connection))
        } catch {
            guard error.isNameWithoutOwner else {
                throw .withoutBus("The message bus does not say who has the name \(name) (\(error)). Try again.")
            }
            return nil
        }
    }

    /// Nil if the bus does not know it.
    private func processID(of connection: String) throws(BusError) -> UInt32? {
        do throws(BusError) { return try ask("GetConnectionUnixProcessID", connection).readUInt32() } catch {
            guard !error.name.isEmpty, !error.isNameWithoutOwner else { throw error }
            return nil
        }
    }

    private func ask(_ member: String, _ argument: String) throws(BusError) -> BusMessage {
        try bus.call(BusDriver.name, BusDriver.path, BusDriver.name, member, argument)
    }

    private static func owner(_ connection: String, _ processID: UInt32?) -> NameOwner {
        NameOwner(
            connection: connection, processID: processID, program: processID.flatMap { program(ofProcess: $0) })
    }

    /// The name of the file that a process executes. Of one that may not be looked at, it is the name by which it was started.
    private static func program(ofProcess processID: UInt32) -> String? {
        let folder = "/proc/\(processID)"
        if let path = try? FileManager.default.destinationOfSymbolicLink(atPath: folder + "/exe") {
            // What the kernel writes behind a file that was replaced since.
            let deleted = " (deleted)"
            return PathName.last(of: path.hasSuffix(deleted) ? String(path.dropLast(deleted.count)) : path)
        }
        guard let words = try? Data(contentsOf: URL(fileURLWithPath: folder + "/cmdline")), !words.isEmpty else {
            return nil
        }
        return PathName.last(of: String(decoding: words.prefix { $0 != 0 }, as: UTF8.self))
    }

    func reloadConfiguration() -> Bool {
        do throws(BusError) {
            try bus.call(BusDriver.name, BusDriver.path, BusDriver.name, "ReloadConfig")
            return true
        } catch { return false }
    }

    func unitState(_ unit: String) -> String? {
        do throws(BusError) {
            return try bus.call(
                "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager",
                "GetUnitFileState", unit
            ).readText()
        } catch { return nil }
    }
}
