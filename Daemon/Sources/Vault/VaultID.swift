public import ExactNames
public import Foundation

/// The 16 random bytes that name a store, an owner, an object or another row; never reused.
public struct VaultID: Hashable, Sendable, CustomStringConvertible {
    /// Number of bytes.
    public static let byteCount = 16

    // Two numbers rather than `Data`: identifiers are compared and hashed with each use of a right.
    private let halves: Halves

    private struct Halves: Hashable {
        let first: UInt64
        let second: UInt64
    }

    /// The bytes.
    public var bytes: Data { unsafe withUnsafeBytes(of: halves) { unsafe Data($0) } }

    /// The first twelve bits: the number of the bucket that lists the row of this identifier, where a list has 4,096.
    var bucket: Int { Int(halves.first.bigEndian >> 52) }

    /// A new identifier of the system's randomness.
    public init() {
        var generator = SystemRandomNumberGenerator()
        halves = Halves(first: generator.next(), second: generator.next())
    }

    /// The identifier with these bytes; nil unless there are exactly 16.
    public init?(bytes: Data) {
        guard bytes.count == Self.byteCount else { return nil }
        halves = unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(as: Halves.self) }
    }

    /// Lower-case hexadecimal.
    public var description: String { bytes.hexadecimal }
}

extension VaultID {
    /// The identifier of an owner, for modules that do not know the store.
    public var ownerID: OwnerID { OwnerID(bytes: bytes)! }  // It has exactly as many bytes.

    /// The lowest identifier that may follow a row's key in the order of keys, and whether it does; a key need not be an
    /// identifier.
    static func bound(after key: Data) -> (id: VaultID, isIncluded: Bool) {
        let padded = key.prefix(byteCount) + Data(count: max(0, byteCount - key.count))
        return (VaultID(bytes: Data(padded))!, key.count < byteCount)  // It has exactly as many bytes.
    }
}

extension VaultID: Comparable {
    /// The order of the bytes.
    public static func < (left: VaultID, right: VaultID) -> Bool {
        (left.halves.first.bigEndian, left.halves.second.bigEndian)
            < (right.halves.first.bigEndian, right.halves.second.bigEndian)
    }
}

extension Data {
    var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(2 * count)
        for byte in self {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 0xF)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
