import Foundation
import Glibc
import UnixSocket

/// The machine's daemon while many users are connected and ask for nothing.
struct ManyUsers {
    let plan: Plan
    let programs: MachinePrograms

    /// Numbers that no user of a machine has.
    private static let firstUser: UInt32 = 3_900_001_001
    /// It comes round each ten seconds, so that the daemon can be seen to be well, whoever is connected.
    private static let acceptingThread = "ostiary-accept"

    /// - Parameter folder: one that all accounts may enter.
    func run(in folder: String) throws -> Figures {
        let bus = try PrivateBus(in: folder)
        let users = folder + "/passwd"
        try passwordDatabase().write(toFile: users, atomically: false, encoding: .utf8)
        guard chmod(users, 0o644) == 0 else { throw SystemCallError("chmod", subject: users) }
        let machine = try MachineStage(in: folder + "/machine", programs: programs)
        try machine.start(on: bus.path, users: users)
        let connected = try ConnectedUsers(numbers, to: machine)
        sleep(2)  // The handshakes have work left to do.
        let process = machine.process!
        let switches = try process.contextSwitches(duringSeconds: plan.idleSeconds)
        let accepting = switches[Self.acceptingThread] ?? 0
        let figures: Figures = [
            .manyUsersMemory: Figure([try process.residentMegabytes()], unit: .megabytes),
            .manyUsersWakeups: Figure([Double(switches.values.reduce(0, +) - accepting)], unit: .count),
            .acceptingWakeups: Figure([Double(accepting)], unit: .count),
        ]
        withExtendedLifetime((bus, connected)) {}
        return figures
    }

    private var numbers: [UInt32] { (0..<plan.idleUsers).map { Self.firstUser + UInt32($0) } }

    /// The machine's, with the users.
    private func passwordDatabase() throws -> String {
        let machines = try String(contentsOfFile: "/etc/passwd", encoding: .utf8)
        return machines + numbers.map { "user-\($0):x:\($0):\($0)::/nonexistent:/usr/sbin/nologin\n" }.joined()
    }
}

/// One process of each user, with a connection. They end when let go.
private final class ConnectedUsers {
    private let processes: [ChildProcess]
    /// Its end is theirs.
    private let input: Pipe

    /// Returns when all are connected.
    init(_ numbers: [UInt32], to machine: MachineStage) throws {
        let (input, output) = (Pipe(), Pipe())
        self.input = input
        processes = try numbers.map { number in
            let command =
                MachineStage.asUser(number)
                + [machine.program("ostiary-benchmark"), "idle-user", "--socket", machine.requestsPath]
            return try ChildProcess(
                command[0], Array(command.dropFirst()),
                streams: .init(
                    input: input.fileHandleForReading.fileDescriptor, output: output.fileHandleForWriting.fileDescriptor
                ))
        }
        try output.fileHandleForWriting.close()
        var lines = 0
        while lines < numbers.count {
            let part = output.fileHandleForReading.availableData
            guard !part.isEmpty else { throw NotConnected() }
            lines += part.count(where: { $0 == UInt8(ascii: "\n") })
        }
    }

    struct NotConnected: Error, CustomStringConvertible {
        var description: String { "not all users could connect to the machine's daemon" }
    }
}
