import Foundation
import OstiaryWire
import Testing
import UnixSocket

@testable import OstiaryClient

/// What listens at the socket and is no daemon that a program could use.
@Suite(.timeLimit(.minutes(10))) struct SilentDaemonTests {
    /// A socket where nobody is served yet.
    private final class Listener: Sendable {
        let location: DaemonLocation
        let socket: UnixSocket

        init() throws {
            let folder = "/tmp/ostiary-silent-\(UUID().uuidString.prefix(8))"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            location = DaemonLocation(runtimeDirectory: folder, stateDirectory: folder)
            socket = try UnixSocket.listen(at: location.socketPath)
        }

        deinit {
            socket.shutdown()
            try? FileManager.default.removeItem(atPath: location.runtimeDirectory)
        }
    }

    /// Whole frames as daemons of these protocols send them: those before 2 wrote protobuf.
    @Test(arguments: [1, UInt8(WireLimits.protocolVersion) - 1, UInt8(WireLimits.protocolVersion) + 1, 127])
    func `a daemon of another protocol is named with its version, and told nothing`(version: UInt8) throws {
        let listener = try Listener()
        let (location, socket) = (listener.location, listener.socket)
        let (heard, isHeard) = (Locked<Result<WireRequest, any Error>?>(nil), DispatchSemaphore(value: 0))
        let daemon = Thread {
            let next = Result {
                let connection = try socket.accept()
                let greeting = [0, 0, 0, 20, 0, 0, 0, 0, 0x08, version, 0x12, 16] + [UInt8](repeating: 7, count: 16)
                try greeting.withUnsafeBytes { try connection.send($0) }
                var reader = FrameReader(socket: connection)
                return try reader.next(WireRequest.self).message
            }
            heard.update { $0 = next }
            isHeard.signal()
        }
        daemon.start()
        let error = #expect(throws: OstiaryError.self) { try Connection(to: location) }
        isHeard.wait()
        #expect(throws: FrameReadError.closed) { try heard.value?.get() }
        #expect(error?.code == .init(.versionMismatch))
        #expect(
            error?.explanation
                == "The daemon speaks protocol \(version), this program 7; upgrade the older of the two and restart the daemon."
        )
    }

    @Test func `a daemon that does not greet is given up`() throws {
        let listener = try Listener()
        let location = listener.location
        let error = #expect(throws: OstiaryError.self) { try Connection(to: location, greetingSeconds: 1) }
        #expect(error?.code == .daemonUnavailable)
        #expect(error?.explanation.hasPrefix("The daemon does not answer") == true)
    }
}
