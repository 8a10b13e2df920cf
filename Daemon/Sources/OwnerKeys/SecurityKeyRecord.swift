import CanonicalEncoding
package import Foundation
package import KeySlots

/// An owner's security keys as factors, and how the private halves of the factor's key pairs lie below each of them.
///
/// Each enrolled key has a key pair of its own, whose seed is the key's output. So a new pair of the factor can be wrapped
/// for keys that are not at hand.
package struct SecurityKeyRecord: Equatable, Sendable {
    /// The most keys of an owner: each is asked for in one list, and all lie in one row.
    package static let keyCount = 8
    /// The most pairs that the factor has at once: each is wrapped for each key, and all wraps lie in one row.
    package static let epochCount = 16

    package struct Key: Equatable, Sendable {
        /// 16 bytes.
        package var identifier: Data
        package var name: String
        /// Milliseconds since 1970.
        package var enrolledAt: UInt64
        /// The identifier of the credential in the key.
        package var credential: [UInt8]
        /// Whether its secret is the one of a verified person.
        package var isVerified: Bool
        /// The PIN/UV auth protocol that it was enrolled with.
        package var pinProtocol: UInt8
        /// AAGUID, 16 bytes.
        package var model: [UInt8]
        /// Which salt its output was made with: the record's generation, or the one before.
        package var saltGeneration: UInt32
        /// The public half of its own pair.
        package var publicHalf: PublicHalf
        /// The factor's private halves, in the order of ``SecurityKeyRecord/epochs``.
        package var wraps: [WrappedPrivateHalf]
    }

    /// The factor's public halves, the present one last; empty without keys.
    package var epochs: [PublicHalf] = []
    package var keys: [Key] = []
    /// Counts the pairs that the factor ever had. A number is never used again, so that no slot takes one pair for another.
    package var epochNumber: UInt32 = 0
    /// Counts the pairs that keys ever had.
    package var keyPairNumber: UInt32 = 0
    /// Which salt keys compute with from now on.
    package var saltGeneration: UInt32 = 1

    package init() {}

    /// The identifiers of the enrolled keys, in an order of their own; nil without keys. No other enrolment has the same ones.
    package var enrolledSet: Data? {
        guard !keys.isEmpty else { return nil }
        var writer = CanonicalWriter()
        for identifier in keys.map({ Array($0.identifier) }).sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            writer.write(identifier, length: UInt8.self)
        }
        return Data(writer.bytes)
    }

    private static let version: UInt8 = 1

    /// The bytes of `Documentation/formats/security-keys.md`.
    var encoded: Data {
        var writer = CanonicalWriter()
        writer.write(Self.version)
        writer.write(epochNumber)
        writer.write(keyPairNumber)
        writer.write(saltGeneration)
        writer.write(UInt8(epochs.count))
        for half in epochs { writer.write(half.encoded, length: UInt16.self) }
        writer.write(UInt8(keys.count))
        for key in keys {
            writer.write(key.identifier, length: UInt8.self)
            writer.write(key.name.utf8, length: UInt16.self)
            writer.write(key.enrolledAt)
            writer.write(key.credential, length: UInt16.self)
            writer.write(key.isVerified ? UInt8(1) : 0)
            writer.write(key.pinProtocol)
            writer.write(key.model, length: UInt8.self)
            writer.write(key.saltGeneration)
            writer.write(key.publicHalf.encoded, length: UInt16.self)
            // One for each epoch.
            for wrap in key.wraps { writer.write(wrap.encoded, length: UInt16.self) }
        }
        return Data(writer.bytes)
    }

    /// - Throws: for bytes that ``encoded`` never has.
    init(decoding bytes: Data) throws {
        var reader = CanonicalReader(Array(bytes))
        guard try reader.read(UInt8.self) == Self.version else { throw SecurityKeyRecordError.unknownVersion }
        epochNumber = try reader.read(UInt32.self)
        keyPairNumber = try reader.read(UInt32.self)
        saltGeneration = try reader.read(UInt32.self)
        for _ in 0..<(try reader.read(UInt8.self)) {
            epochs.append(try PublicHalf(encoded: Data(reader.read(length: UInt16.self))))
        }
        for _ in 0..<(try reader.read(UInt8.self)) { keys.append(try Self.key(from: &reader, wraps: epochs.count)) }
        try reader.finish()
        guard encoded == bytes else { throw SecurityKeyRecordError.notCanonical }
    }

    private static func key(from reader: inout CanonicalReader, wraps count: Int) throws -> Key {
        var key = Key(
            identifier: Data(try reader.read(length: UInt8.self)), name: try reader.readText(length: UInt16.self),
            enrolledAt: try reader.read(UInt64.self), credential: try reader.read(length: UInt16.self),
            isVerified: try reader.read(UInt8.self) == 1, pinProtocol: try reader.read(UInt8.self),
            model: try reader.read(length: UInt8.self), saltGeneration: try reader.read(UInt32.self),
            publicHalf: try PublicHalf(encoded: Data(reader.read(length: UInt16.self))), wraps: [])
        for _ in 0..<count {
            key.wraps.append(try WrappedPrivateHalf(encoded: Data(reader.read(length: UInt16.self))))
        }
        return key
    }
}

enum SecurityKeyRecordError: Error { case unknownVersion, notCanonical }
