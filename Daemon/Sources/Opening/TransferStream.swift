import CanonicalEncoding
import Glibc
import ProtectedObjects
import SecretMemory
import UnixSocket

/// The parts of a store on its way into another: `Documentation/formats/migration.md`.
package enum TransferKind: UInt8, Sendable {
    case begin = 1
    case registration = 2
    case item = 3
    case end = 4
}

/// The first part: what will come, what stays behind, and the key of the code in the last part.
package struct TransferBeginning: Equatable, Sendable {
    private static let version: UInt8 = 1

    package let hasPasscode: Bool
    package let itemCount: UInt32
    package let registrationCount: UInt32
    /// Rights, keys and passkeys that stay behind.
    package let keyCount: UInt32
    package let key: [UInt8]

    package init(hasPasscode: Bool, itemCount: UInt32, registrationCount: UInt32, keyCount: UInt32, key: [UInt8]) {
        (self.hasPasscode, self.itemCount) = (hasPasscode, itemCount)
        (self.registrationCount, self.keyCount, self.key) = (registrationCount, keyCount, key)
    }

    package var bytes: [UInt8] {
        var writer = CanonicalWriter(capacity: 64)
        writer.write(Self.version)
        writer.write(flag: hasPasscode)
        for count in [itemCount, registrationCount, keyCount] { writer.write(count) }
        writer.write(fixed: key)
        return writer.takeBytes()
    }

    /// Nil for bytes that ``bytes`` does not give.
    package init?(_ bytes: [UInt8]) {
        var reader = CanonicalReader(bytes)
        do {
            guard try reader.read(UInt8.self) == Self.version else { return nil }
            let flag = try reader.read(UInt8.self)
            guard flag <= 1 else { return nil }
            hasPasscode = flag == 1
            itemCount = try reader.read(UInt32.self)
            registrationCount = try reader.read(UInt32.self)
            keyCount = try reader.read(UInt32.self)
            key = try reader.read(fixed: TransferCode.keyByteCount)
            try reader.finish()
        } catch { return nil }
    }
}

/// Writes parts to a pipe.
struct TransferWriter {
    let descriptor: CInt

    func write(_ kind: TransferKind, _ head: [UInt8], _ secret: borrowing SecretBytes) throws {
        var writer = CanonicalWriter(capacity: 9 + head.count)
        writer.write(kind.rawValue)
        writer.write(UInt32(head.count))
        writer.write(UInt32(secret.count))
        writer.write(fixed: head)
        let start = writer.takeBytes()
        try unsafe start.withUnsafeBytes { try unsafe write($0) }
        try unsafe secret.withUnsafeBytes { try unsafe write($0) }
    }

    @unsafe private func write(_ bytes: UnsafeRawBufferPointer) throws(SystemCallError) {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe Glibc.write(descriptor, bytes.baseAddress! + sent, bytes.count - sent)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw SystemCallError("write", subject: "the other store") }
            sent += count
        }
    }
}
