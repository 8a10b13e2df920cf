import Foundation
import Testing
import UnixSocket

@testable import OstiaryClient

/// A daemon that listens and says nothing, as one that is stopped does.
@Suite struct SilentDaemonTests {
    @Test func `a daemon that does not greet is given up`() throws {
        let folder = "/tmp/ostiary-silent-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let location = DaemonLocation(runtimeDirectory: folder, stateDirectory: folder)
        let listener = try UnixSocket.listen(at: location.socketPath)
        defer { listener.shutdown() }
        let error = #expect(throws: OstiaryError.self) { try Connection(to: location, greetingSeconds: 1) }
        #expect(error?.code == .daemonUnavailable)
        #expect(error?.explanation.hasPrefix("The daemon does not answer") == true)
    }
}
