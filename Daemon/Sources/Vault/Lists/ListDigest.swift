import CanonicalEncoding
import Foundation

/// One digest over the codes of all buckets of a list. Codes are digested in groups of 64, and the groups again, so that a
/// changed bucket costs two short digests.
///
/// It is no sum and takes no generations: a state that mixes two times, or two histories that parted, has another digest.
struct ListDigest {
    private static let groupCount = 64

    private var codes: [RowCode]
    /// The digest of each group; nil after a code in it changed.
    private var groups: [Data?]

    /// Of a list whose buckets list nothing.
    init(bucketCount: Int) {
        codes = Array(repeating: .none, count: bucketCount)
        groups = Array(repeating: nil, count: (bucketCount + Self.groupCount - 1) / Self.groupCount)
    }

    /// The code of a bucket's row; ``RowCode/none`` of a bucket without a row.
    subscript(bucket: Int) -> RowCode {
        get { codes[bucket] }
        set {
            codes[bucket] = newValue
            groups[bucket / Self.groupCount] = nil
        }
    }

    /// 32 bytes.
    mutating func value(by protector: any RecordProtector) throws -> Data {
        for number in groups.indices where groups[number] == nil {
            var writer = CanonicalWriter(capacity: 1 + Self.groupCount * RowCode.byteCount)
            writer.write(Level.codes.rawValue)
            for code in codes[(number * Self.groupCount)...].prefix(Self.groupCount) {
                writer.write(code.high)
                writer.write(code.low)
            }
            groups[number] = try protector.digest(Data(writer.bytes), label: ProtectionLabel.list)
        }
        var writer = CanonicalWriter(capacity: 1 + groups.count * 32)
        writer.write(Level.groups.rawValue)
        for case .some(let group) in groups { writer.write(fixed: group) }
        return try protector.digest(Data(writer.bytes), label: ProtectionLabel.list)
    }

    /// The first byte of what is digested, so that neither level passes for the other.
    private enum Level: UInt8 {
        case codes = 1
        case groups = 2
    }
}
