import Glibc
import UnixSocket

/// A file with the number of a console in two bytes, big-endian. It outlives a program that is killed.
struct ConsoleFile {
    let path: String

    /// Nil when there is no such file, or when it has another form.
    var number: UInt16? {
        let opened = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard opened >= 0 else { return nil }
        let file = Descriptor(owning: opened)
        var bytes: [UInt8] = [0, 0, 0]
        guard unsafe read(file.number, &bytes, bytes.count) == 2 else { return nil }
        let number = UInt16(bytes[0]) << 8 | UInt16(bytes[1])
        return KernelConsoles.numbers.contains(number) ? number : nil
    }

    /// Writes the number; false when that is impossible.
    func remember(_ number: UInt16) -> Bool {
        let opened = unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard opened >= 0 else { return false }
        let file = Descriptor(owning: opened)
        // One write over the former number, so that a reader never meets an empty file.
        let bytes = [UInt8(number >> 8), UInt8(truncatingIfNeeded: number)]
        return unsafe write(file.number, bytes, bytes.count) == bytes.count
    }

    func remove() { _ = unsafe unlink(path) }
}
