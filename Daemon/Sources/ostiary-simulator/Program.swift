import CLinuxShims
import Foundation
import Glibc
import Logging
import ProcessFacts
import Simulation
import SimulatorMessages
import UnixSocket

/// The simulator's program: a daemon for the tests of one process, which tells it through standard input what to do.
///
/// It takes no arguments and reads no setting, so it cannot be pointed at a store or a socket that exists. It ends with the process
/// that started it.
@main
struct OstiarySimulator {
    static func main() {
        guard ostiary_occupy_standard_descriptors() == 0 else { exit(1) }
        umask(0o077)
        // The test ends it by closing the channel, so that it can remove its folder. What does not end then is killed.
        for number in [SIGTERM, SIGHUP, SIGINT, SIGPIPE] { signal(number, SIG_IGN) }
        guard CommandLine.arguments.count == 1 else { refuse("It takes no arguments. \(Self.advice)") }
        guard let channel = try? controlChannel() else {
            refuse("Its standard input is not a socket of a process of yours. \(Self.advice)")
        }
        do { try serve(channel) } catch {
            // The other side is gone, or never understood; nobody is left to be told.
            FileHandle.standardError.write(Data("ostiary-simulator: \(error)\n".utf8))
            _exit(1)
        }
        // Not exit(3): a session that did not end in time may still use what exit(3) tears down.
        _exit(0)
    }

    private static let advice =
        "Tests start it: see Documentation/testing.md. For a daemon that keeps a store, use ostiaryd."

    private static func refuse(_ why: String) -> Never {
        FileHandle.standardError.write(Data("ostiary-simulator: \(why)\n".utf8))
        exit(2)
    }

    /// Standard input, if it is one end of a pair of sockets that a process of this user made.
    private static func controlChannel() throws -> SimulatorChannel {
        let socket = UnixSocket(owning: try Descriptor(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), from: "fcntl"))
        let peer = try socket.peerCredentials()
        guard peer.userID == geteuid() else { throw SystemCallError("getsockopt", subject: "the peer", code: EPERM) }
        return SimulatorChannel(socket)
    }

    private static func serve(_ channel: SimulatorChannel) throws {
        var log = Logger(label: "ostiary-simulator") { StreamLogHandler.standardError(label: $0) }
        log.logLevel = .error
        let simulator: Simulator
        do { simulator = try Simulator(facts: KernelFacts(), log: log) } catch {
            return try channel.send(SimulatorAnswer.refused("\(error)"))
        }
        defer { simulator.end() }
        try channel.send(SimulatorAnswer.ready(folder: simulator.folder, version: SimulatorAnswer.version))
        while let request = try channel.receive(SimulatorRequest.self) { try channel.send(simulator.answer(request)) }
    }
}
