import CanonicalEncoding
package import Foundation
package import Vault

/// What is kept about an owner's biometry from one start of the daemon to the next.
package struct BiometryRecord: Equatable, Sendable {
    /// Fingers in a row that were not recognised.
    package var missCount: UInt32 = 0
    /// Whether biometry waits for the passcode, because the enrolled set has changed.
    package var isResting = false
    /// The enrolled set that was there when the passcode was entered last; nil as long as none was seen then.
    package var enrolledSet: EnrolledSetMark?

    package init() {}

    private static let version: UInt8 = 1

    /// The bytes of `Documentation/formats/biometry.md`.
    var encoded: Data {
        var writer = CanonicalWriter()
        writer.write(Self.version)
        writer.write(isResting ? UInt8(1) : 0)
        writer.write(enrolledSet?.bytes ?? Data(), length: UInt32.self)
        return Data(writer.bytes)
    }

    init(missCount: UInt32, decoding bytes: Data) throws {
        var reader = CanonicalReader(Array(bytes))
        guard try reader.read(UInt8.self) == Self.version else { throw BiometryRecordError.unknownVersion }
        self.missCount = missCount
        isResting = try reader.read(UInt8.self) != 0
        let set = try reader.read(length: UInt32.self)
        enrolledSet = set.isEmpty ? nil : EnrolledSetMark(Data(set))
        try reader.finish()
    }
}

/// Bytes that differ for two enrolled sets. What they are made of is up to the biometry of the daemon.
package struct EnrolledSetMark: Equatable, Sendable {
    package let bytes: Data

    /// - Parameter bytes: not empty.
    package init(_ bytes: Data) { self.bytes = bytes }
}

enum BiometryRecordError: Error { case unknownVersion }

/// The row of the store that holds a ``BiometryRecord``. It is one of the counters of wrong tries, and so under the store's
/// root: an older one is refused.
package struct BiometryRecordStorage: Sendable {
    private let vault: Vault
    private let owner: VaultID
    /// The key of the row.
    package static let subject = Data("biometry".utf8)

    package init(vault: Vault, owner: VaultID) { (self.vault, self.owner) = (vault, owner) }

    /// - Throws: when the row does not verify or cannot be read; that is no record without misses.
    package func load() throws -> BiometryRecord {
        guard let row = try vault.read({ try $0.attempts(owner: owner, subject: Self.subject) }) else {
            return BiometryRecord()
        }
        return try BiometryRecord(missCount: row.failedCount, decoding: row.delayState)
    }

    /// On disk when this returns. A row that does not verify is replaced.
    package func save(_ record: BiometryRecord) throws {
        try vault.write("biometry") { writer in
            try writer.setAttempts(
                AttemptRecord(
                    owner: owner, subject: Self.subject, failedCount: record.missCount, delayState: record.encoded))
        }
    }
}
