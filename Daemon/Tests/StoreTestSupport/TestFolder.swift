public import Foundation

/// A folder of its own for one test, removed with the value.
public final class TestFolder: Sendable {
    public let path: String
    private let isOwned: Bool

    /// A folder that another process owns and removes.
    public init(of other: String) {
        path = other
        isOwned = false
    }

    /// - Parameter parent: where the folder is made.
    public init(in parent: String = NSTemporaryDirectory()) throws {
        isOwned = true
        path = URL(fileURLWithPath: parent).appendingPathComponent("ostiary-test-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit {
        guard isOwned else { return }
        // A leftover folder does no harm, and a test's result should not depend on it.
        try? FileManager.default.removeItem(atPath: path)
    }

    public func path(_ name: String) -> String { path + "/" + name }

    /// The contents of all files in the folder, one behind the other.
    public func allBytes() throws -> Data {
        try FileManager.default.contentsOfDirectory(atPath: path).sorted().reduce(into: Data()) { bytes, name in
            bytes += try Data(contentsOf: URL(fileURLWithPath: path(name)))
        }
    }
}
