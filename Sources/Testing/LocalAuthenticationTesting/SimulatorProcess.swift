import Foundation
import Glibc
import OstiaryClient
import SimulatorMessages
import Synchronization
import UnixSocket

/// A running simulator. It ends with this object, and with this process.
final class SimulatorProcess: Sendable {
    private let child: ChildProcess
    private let channel: SimulatorChannel
    /// Held from a request to its answer.
    private let asking = NSLock()
    private let isEnded = Mutex(false)
    /// The folder of its store and its socket.
    let folder: String
    private let turn: DeviceTurn

    /// How long it may take to close its store.
    private static let patienceMilliseconds: CInt = 10_000

    /// Starts the program at `path`. Blocks until it listens.
    init(_ path: String, _ turn: consuming DeviceTurn) throws {
        var ends: [CInt] = [-1, -1]
        guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw SimulationError.notStarted("\(SystemCallError("socketpair"))")
        }
        let own = Descriptor(owning: ends[0])
        let other = Descriptor(owning: ends[1])
        do throws(SystemCallError) {
            child = try ChildProcess(
                program: path, arguments: ["ostiary-simulator"], environment: Self.environment,
                // It says on standard error what no script answered.
                descriptors: [other.number, -1, STDERR_FILENO], leadsSession: true)
        } catch { throw SimulationError.notStarted("\(error)") }
        channel = SimulatorChannel(UnixSocket(owning: own))
        self.turn = turn
        do { folder = try Self.greeting(channel, closing: consume other) } catch {
            child.end(patience: Self.patienceMilliseconds)
            throw error
        }
    }

    private static var environment: [String] {
        DaemonProgram.environment + ["TMPDIR=" + FileManager.default.temporaryDirectory.path]
    }

    /// - Parameter other: the simulator's end: a simulator that ends must leave no open end.
    private static func greeting(_ channel: SimulatorChannel, closing other: consuming Descriptor) throws -> String {
        _ = consume other
        switch try? channel.receive(SimulatorAnswer.self) {
        case .ready(let folder, SimulatorAnswer.version): return folder
        case .ready: throw SimulationError.otherVersion
        case .refused(let words): throw SimulationError.notStarted(words)
        case .done, .report, nil: throw SimulationError.notStarted("It ended; see what it wrote to standard error.")
        }
    }

    deinit { end() }

    /// Sends a request and waits for its answer.
    func ask(_ request: SimulatorRequest) throws(SimulationError) -> SimulatorAnswer {
        asking.lock()
        defer { asking.unlock() }
        let answer: SimulatorAnswer?
        do {
            try channel.send(request)
            answer = try channel.receive(SimulatorAnswer.self)
        } catch { throw .ended }
        switch answer {
        case .refused(let words): throw .refused(words)
        case let answer?: return answer
        case nil: throw .ended
        }
    }

    func tell(_ request: SimulatorRequest) throws(SimulationError) { _ = try ask(request) }

    func report() throws(SimulationError) -> SimulatorReport {
        guard case .report(let report) = try ask(.report) else { throw .otherVersion }
        return report
    }

    /// Ends the simulator and lets the next device begin. Blocks until its folder is gone.
    func end() {
        let isFirst = isEnded.withLock { isEnded in
            defer { isEnded = true }
            return !isEnded
        }
        guard isFirst else { return }
        channel.close()
        child.end(patience: Self.patienceMilliseconds)
        // It is gone already, unless the simulator was killed.
        try? FileManager.default.removeItem(atPath: folder)
        turn.end()
    }
}
