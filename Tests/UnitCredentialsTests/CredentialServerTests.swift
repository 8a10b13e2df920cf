import CommandFailures
import DoorSupport
import Foundation
import OstiaryClient
import SocketTestSupport
import Synchronization
import Testing
import UnixSocket

@testable import UnitCredentials

/// Refusals, as a service manager sees them. None needs a daemon, so none runs.
@Suite("A server of credentials that refuses", .timeLimit(.minutes(10)))
struct CredentialServerTests {
    private final class Notes: Sendable {
        let texts = Mutex<[String]>([])
        func add(_ text: String) { texts.withLock { $0.append(text) } }
        var all: [String] { texts.withLock { $0 } }
    }

    private let folder = FileManager.default.temporaryDirectory.path + "/ostiary-units-\(UUID().uuidString.prefix(8))"
    private let notes = Notes()

    private static var random: String { UUID().uuidString.replacingOccurrences(of: "-", with: "") }

    init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false) }

    private func rules(_ text: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/rules")) }

    /// This process's own program.
    private static let own = ServiceManagers(["/nonexistent", "/proc/self/exe"])

    /// Serves one connection, which comes from a socket with this name.
    private func answer(
        to name: String?, managers: ServiceManagers = own,
        unit: @escaping @Sendable (Int32) throws(DoorFailure) -> String? = { _ throws(DoorFailure) in "backup.service" }
    ) throws -> [UInt8] {
        let path = folder + "/socket"
        unlink(path)
        let listener = try UnixSocket.listen(at: path)
        let nowhere = DaemonLocation(runtimeDirectory: folder + "/run", stateDirectory: folder + "/state")
        let server = CredentialServer(
            rules: folder + "/rules", ostiary: OstiaryClient(location: nowhere), managers: managers, unit: unit,
            note: { [notes] in notes.add($0) })
        let peer =
            if let name { try UnixSocket.connect(to: path, boundTo: Array(name.utf8)) } else {
                try UnixSocket.connect(to: path)
            }
        let connection = try listener.accept()
        Thread.detachNewThread { server.serve(connection) }
        return try peer.receiveAll()
    }

    /// systemd takes at most a mebibyte, and fails the unit past it.
    private func isRefusal(_ answer: [UInt8]) -> Bool { answer.count > 1 << 20 && answer.allSatisfy { $0 == 0 } }

    @Test func `a refusal is longer than a credential may be, so that no unit starts with an empty one`() throws {
        try rules("backup.service key = backup\n")
        #expect(try isRefusal(answer(to: "\(Self.random)/unit/other.service/key")))
        #expect(
            notes.all.count == 1 && notes.all[0].contains("other.service asked for key, and no rule gives it that."))
    }

    @Test func `a peer without a name, or with another one, is refused`() throws {
        try rules("backup.service key = backup\n")
        #expect(try isRefusal(answer(to: nil)))
        #expect(try isRefusal(answer(to: "\(Self.random)/unit/backup.service/key/more")))
        #expect(notes.all.allSatisfy { $0 == DoorFailure.unitUnknown.explanation } && notes.all.count == 2)
    }

    @Test func `without rules, and with wrong ones, everybody is refused`() throws {
        let name = { Self.random + "/unit/backup.service/key" }
        #expect(try isRefusal(answer(to: name())))
        #expect(notes.all.last?.contains("no file of rules") == true)
        try rules("backup.service key = backup\nwrong\n")
        #expect(try isRefusal(answer(to: name())))
        #expect(notes.all.last?.contains("line 2") == true)
    }

    @Test func `without a daemon a unit with a rule is refused`() throws {
        try rules("backup.service key = backup\n")
        #expect(try isRefusal(answer(to: "\(Self.random)/unit/backup.service/key")))
        #expect(notes.all.count == 1 && notes.all[0].contains("got key") == false)
        #expect(!notes.all[0].contains("is not systemd") && !notes.all[0].contains("in the name of"), "\(notes.all)")
    }

    @Test func `a program that is no service manager is refused`() throws {
        try rules("backup.service key = backup\n")
        // Whatever its path, another file is another program.
        for managers in [ServiceManagers.usual, ServiceManagers(["/bin/sh"]), ServiceManagers([])] {
            #expect(try isRefusal(answer(to: "\(Self.random)/unit/backup.service/key", managers: managers)))
        }
        let refusal = DoorFailure.notServiceManager(getpid()).explanation
        #expect(notes.all == Array(repeating: refusal, count: 3))
    }

    @Test func `a process of another unit, and of none, is refused`() throws {
        try rules("backup.service key = backup\n")
        let name = { Self.random + "/unit/backup.service/key" }
        #expect(try isRefusal(answer(to: name(), unit: { _ throws(DoorFailure) in "other.service" })))
        #expect(try isRefusal(answer(to: name(), unit: { _ throws(DoorFailure) in nil })))
        #expect(
            notes.all == [
                "A process of other.service asked in the name of backup.service, and got nothing. Each unit asks for itself.",
                "A process of no unit asked in the name of backup.service, and got nothing. Each unit asks for itself.",
            ])
    }

    @Test func `a process that has ended is no service manager`() {
        let failure = #expect(throws: DoorFailure.self) { try ServiceManagers.usual.requireOne(-1) }
        #expect(failure?.failureClass.name == "unitUnreadable")
        #expect(throws: Never.self) { try Self.own.requireOne(getpid()) }
    }
}
