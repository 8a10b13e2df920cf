import Foundation
import Glibc

/// A file system of a few megabytes in memory, unmounted with the value.
public final class SmallDisk: Sendable {
    private let folder: TestFolder
    public var path: String { folder.path("disk") }

    public struct NotMounted: Error {}

    public static let canBeMounted: Bool = {
        do { return try withExtendedLifetime(SmallDisk(byteCount: 1024 * 1024)) { true } } catch { return false }
    }()

    public init(byteCount: Int) throws {
        folder = try TestFolder()
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        guard mount("tmpfs", path, "tmpfs", 0, "size=\(byteCount),mode=0700") == 0 else { throw NotMounted() }
    }

    deinit { umount2(path, CInt(MNT_DETACH)) }

    /// Takes all the space that is left.
    public func fill() throws {
        let file = open(path + "/filler", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw NotMounted() }
        defer { Glibc.close(file) }
        let block = [UInt8](repeating: 0, count: 4096)
        while write(file, block, block.count) > 0 {}
        guard errno == ENOSPC else { throw NotMounted() }
    }

    /// Frees what ``fill()`` took.
    public func empty() throws { guard unlink(path + "/filler") == 0 || errno == ENOENT else { throw NotMounted() } }
}
