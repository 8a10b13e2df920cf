import CanonicalEncoding
import Foundation

/// One digest over the codes of all buckets of a list. Codes are digested in groups of 64, and then the groups, so that
/// a changed bucket costs two short digests.
///
/// It covers the codes themselves, not a sum and not generations. So a list that mixes buckets of two times, or of two
/// copies of the store, has another digest.
struct ListDigest {
    private static let groupCount = 64
    private static let digestByteCount = 32

    private var codes: [RowCode]
    /// The digests of all groups in one piece, as the value covers them: a `Data` for each would cost more than the digest.
    private var groups: [UInt8]
    /// The groups of which a code changed since.
    private var staleGroups: Set<Int>

    /// The digest of a list whose buckets are all empty.
    init(bucketCount: Int) {
        codes = Array(repeating: .none, count: bucketCount)
        let count = (bucketCount + Self.groupCount - 1) / Self.groupCount
        groups = Array(repeating: 0, count: count * Self.digestByteCount)
        staleGroups = Set(0..<count)
    }

    /// The code of a bucket's row; ``RowCode/none`` for a bucket without a row.
    subscript(bucket: Int) -> RowCode {
        get { codes[bucket] }
        set {
            codes[bucket] = newValue
            staleGroups.insert(bucket / Self.groupCount)
        }
    }

    /// 32 bytes.
    mutating func value(by protector: any RecordProtector) throws -> Data {
        for number in staleGroups {
            let digest = try protector.digest(message(ofGroup: number), label: ProtectionLabel.list)
            let place = number * Self.digestByteCount
            groups.replaceSubrange(place..<place + Self.digestByteCount, with: digest)
        }
        staleGroups = []
        return try protector.digest(Data([Level.groups.rawValue] + groups), label: ProtectionLabel.list)
    }

    private func message(ofGroup number: Int) -> Data {
        var writer = CanonicalWriter(capacity: 1 + Self.groupCount * RowCode.byteCount)
        writer.write(Level.codes.rawValue)
        for code in codes[(number * Self.groupCount)...].prefix(Self.groupCount) {
            writer.write(code.high)
            writer.write(code.low)
        }
        return Data(writer.takeBytes())
    }

    /// The first byte of each digest's input. It keeps the two levels apart.
    private enum Level: UInt8 {
        case codes = 1
        case groups = 2
    }
}
