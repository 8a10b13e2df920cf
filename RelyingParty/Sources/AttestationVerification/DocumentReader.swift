import CanonicalCBOR
import Foundation

/// Reads the members of a document. No member is left over.
struct DocumentReader {
    private let document: AttestationDocument
    private let map: CBORMap

    /// All structures of a TPM and a certificate fit several times.
    private static let byteCount = 16 * 1024

    init(
        _ bytes: Data, _ document: AttestationDocument, format: String, members: Set<String>
    ) throws(RightAttestationError) {
        guard bytes.count <= Self.byteCount else { throw .unreadable(document) }
        let value: CBORValue
        do { value = try CBORDecoder.decode([UInt8](bytes)[...], .canonical) } catch { throw .unreadable(document) }
        guard let map = value.map, map["fmt"]?.text == format else { throw .unreadable(document) }
        guard map["ver"]?.integer == 1 else { throw .version(document) }
        let known = members.union(["fmt", "ver"])
        guard map.entries.allSatisfy({ $0.key.text.map(known.contains) == true }) else { throw .unreadable(document) }
        self.document = document
        self.map = map
    }

    func bytes(_ member: String) throws(RightAttestationError) -> [UInt8] {
        guard let bytes = map[member]?.bytes else { throw .unreadable(document) }
        return Array(bytes)
    }

    /// The members if all are there, nil if none is.
    func bytes(allOrNone members: [String]) throws(RightAttestationError) -> [[UInt8]]? {
        guard members.contains(where: { map[$0] != nil }) else { return nil }
        var list: [[UInt8]] = []
        for member in members { list.append(try bytes(member)) }
        return list
    }
}
