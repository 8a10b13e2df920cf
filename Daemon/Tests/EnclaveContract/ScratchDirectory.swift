public import Foundation

/// A private folder of one test, removed with its last owner.
public final class ScratchDirectory: Sendable {
    private let url = FileManager.default.temporaryDirectory.appendingPathComponent("ostiary-test-\(UUID().uuidString)")

    public init() {}

    deinit {
        do { try FileManager.default.removeItem(at: url) } catch { /* It was never made, or a test removed it. */  }
    }

    /// Makes the folder with mode 0700; doing so again changes nothing.
    public func make() throws {
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    public var path: String { url.path }

    public func path(_ name: String) -> String { url.appendingPathComponent(name).path }

    /// Writes a file and returns its path.
    public func write(_ bytes: Data, named name: String) throws -> String {
        try bytes.write(to: URL(fileURLWithPath: path(name)))
        return path(name)
    }
}
