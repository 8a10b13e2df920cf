import CTAP
import CanonicalCBOR
import Crypto
import Foundation

/// The errors of a key with large blobs (CTAP 2.1, 8.2).
enum LargeBlobStatus: UInt8, Error {
    case invalidParameter = 0x02
    case invalidLength = 0x03
    case invalidSequence = 0x04
    case unexpectedType = 0x11
    case invalidCBOR = 0x12
    case missingParameter = 0x14
    case invalidOption = 0x2C
    case notAllowed = 0x30
    case tokenInvalid = 0x33
    case tokenRequired = 0x36
    case integrityFailure = 0x3D
    case storageFull = 0x42

    /// The error of a request that cannot be read.
    init(_ status: CTAPStatus) { self = LargeBlobStatus(rawValue: status.rawValue) ?? .invalidCBOR }
}

/// A request of authenticatorLargeBlobs: it either reads or writes a piece of the array (CTAP 2.1, 6.10.2).
struct LargeBlobRequest {
    /// How many bytes to read.
    let byteCount: Int?
    /// The bytes to write.
    let piece: [UInt8]?
    let offset: Int
    /// How long the whole array will be; only with the first piece of a write.
    let length: Int?
    let code: [UInt8]?
    let version: Int?

    init(decoding bytes: ArraySlice<UInt8>) throws(LargeBlobStatus) {
        let map = try CBORMap(message: bytes)
        byteCount = try map.member(1, \.integer)
        piece = try map.member(2, \.bytes).map { Array($0) }
        guard let offset = try map.member(3, \.integer), offset >= 0 else { throw .invalidParameter }
        self.offset = offset
        length = try map.member(4, \.integer)
        code = try map.member(5, \.bytes).map { Array($0) }
        version = try map.member(6, \.integer)
        guard (byteCount == nil) != (piece == nil) else { throw .invalidParameter }
    }
}

/// The array of large blobs in a key, and the write that is under way.
struct LargeBlobArray {
    /// The longest piece; the rest of a message is for the other parameters.
    private let pieceByteCount: Int
    /// How long the array may become, with its trailer.
    let capacity: Int
    /// The array in CBOR, with the first half of its hash as the trailer.
    private(set) var serialized = LargeBlobArray.sealed([0x80])
    private var incoming: [UInt8] = []
    private var incomingCount = 0

    private static let trailerByteCount = 16

    init(capacity: Int, messageByteCount: Int) {
        self.capacity = capacity
        pieceByteCount = messageByteCount - 64
    }

    private static func sealed(_ array: [UInt8]) -> [UInt8] {
        array + Array(SHA256.hash(data: array).prefix(trailerByteCount))
    }

    /// The encrypted blobs; nil for an array that no client of the specification wrote.
    var entries: [CBORValue]? {
        let array = serialized.dropLast(Self.trailerByteCount)
        return (try? CBORDecoder.decode(array, .canonical))?.array
    }

    func piece(_ byteCount: Int, at offset: Int) throws(LargeBlobStatus) -> [UInt8] {
        guard byteCount >= 0, byteCount <= pieceByteCount else { throw .invalidLength }
        guard offset <= serialized.count else { throw .invalidParameter }
        return Array(serialized[offset...].prefix(byteCount))
    }

    /// Checks that a piece may come now. The first one gives up the write before it.
    mutating func prepare(for piece: [UInt8], _ request: LargeBlobRequest) throws(LargeBlobStatus) {
        guard piece.count <= pieceByteCount else { throw .invalidLength }
        if request.offset == 0 {
            guard let length = request.length else { throw .invalidParameter }
            guard length <= capacity else { throw .storageFull }
            guard length > Self.trailerByteCount else { throw .invalidParameter }
            (incoming, incomingCount) = ([], length)
        } else {
            guard request.length == nil else { throw .invalidParameter }
        }
        guard request.offset == incoming.count else { throw .invalidSequence }
    }

    /// The last piece puts the new array in the place of the old one, if its trailer is right.
    mutating func append(_ piece: [UInt8]) throws(LargeBlobStatus) {
        guard incoming.count + piece.count <= incomingCount else { throw .invalidParameter }
        incoming += piece
        guard incoming.count == incomingCount else { return }
        let whole = incoming
        (incoming, incomingCount) = ([], 0)
        guard Self.sealed(Array(whole.dropLast(Self.trailerByteCount))) == whole else { throw .integrityFailure }
        serialized = whole
    }

    /// Flips a bit of each blob, and makes the trailer right again.
    mutating func damage() {
        guard let entries else { return }
        let damaged = entries.map { (entry: CBORValue) -> CBORValue in
            guard let map = entry.map, let ciphertext = map[1]?.bytes else { return entry }
            var bytes = Array(ciphertext)
            bytes[0] ^= 0x01
            return CBORValue.map(map.setting(.number(1), to: CBORValue.bytes(bytes)))
        }
        serialized = Self.sealed(CBORValue.array(damaged).encoded)
    }
}

extension CBORMap {
    /// The parameters of a request, or the members of an answer.
    init(message bytes: ArraySlice<UInt8>) throws(LargeBlobStatus) {
        do { self = try Parameters(decoding: bytes).map } catch { throw LargeBlobStatus(error) }
    }

    func member<Value>(_ label: Int, _ read: (CBORValue) -> Value?) throws(LargeBlobStatus) -> Value? {
        do { return try Parameters(self).optional(label, read) } catch { throw LargeBlobStatus(error) }
    }

    /// The same map with another value under a key, or without the key.
    func setting(_ key: CBORValue, to value: CBORValue?) -> CBORMap {
        var members = entries.filter { $0.key != key }.map { ($0.key, $0.value) }
        if let value { members.append((key, value)) }
        return CBORMap(members)
    }
}
