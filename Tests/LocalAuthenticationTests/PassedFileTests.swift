import Foundation
import Glibc
import OstiaryMessages
import OstiaryWire
import Testing
import UnixSocket

@testable import OstiaryClient

/// What a program passes when it greets a daemon.
@Suite(.timeLimit(.minutes(10))) struct PassedFileTests {
    private static func identity(_ number: CInt) -> [UInt64] {
        var status = stat()
        return fstat(number, &status) == 0 ? [UInt64(status.st_dev), UInt64(status.st_ino)] : []
    }

    /// The files that come with the greeting to a daemon of these versions.
    private static func files(ofMachine: Bool, _ versions: ClosedRange<UInt32>) throws -> [[UInt64]] {
        let folder = "/tmp/ostiary-passed-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let own = DaemonLocation(runtimeDirectory: folder, stateDirectory: folder)
        let location =
            ofMachine
            ? DaemonLocation.system(SystemDaemonLocation(socketPath: own.socketPath, serverIDs: [geteuid()])) : own
        let listener = try UnixSocket.listen(at: own.socketPath)
        let (heard, isHeard) = (Locked<Result<[[UInt64]], any Error>?>(nil), DispatchSemaphore(value: 0))
        Thread {
            let result = Result { try Self.serve(listener.accept(), versions) }
            heard.update { $0 = result }
            isHeard.signal()
        }.start()
        _ = try DaemonConnection(to: location)
        isHeard.wait()
        return try #require(heard.value).get()
    }

    private static func serve(_ connection: UnixSocket, _ versions: ClosedRange<UInt32>) throws -> [[UInt64]] {
        let random = Data(repeating: 7, count: WireLimits.nonceByteCount)
        try FrameWriter.send(WireGreeting(ProtocolVersions(versions), random: random), on: connection)
        var reader = FrameReader(socket: connection, takesFile: true)
        let frame = try reader.next(WireRequest.self)
        let reply = WireReply.with { ($0.id, $0.body) = (1, .done(.init())) }
        try FrameWriter.send(reply, on: connection)
        return frame.descriptors.map { identity($0.descriptor.number) }
    }

    private static var own: [UInt64] {
        let number = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)
        defer { close(number) }
        return identity(number)
    }

    @Test func `the machine's daemon gets the program's own file, if it speaks version 9`() throws {
        #expect(try Self.files(ofMachine: true, 7...9) == [Self.own])
        #expect(try Self.files(ofMachine: true, 7...8) == [])
    }

    @Test func `a user's daemon gets none`() throws {
        #expect(try Self.files(ofMachine: false, 7...9) == [])
    }
}
