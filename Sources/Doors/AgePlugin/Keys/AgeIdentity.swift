package import Foundation

/// The text with which age finds the key for a file: it names a key of the enclave, and holds none. It needs no protection.
///
/// Bech32 with the prefix `AGE-PLUGIN-OSTIARY-`; the bytes are the version 1, the kind (1 for P-256, 2 for the hybrid), 16 bytes that
/// name the key on P-256, for a hybrid 16 bytes that name the key for ML-KEM-768, and the compressed point, 33 bytes. With the point a file
/// for somebody else is told apart without a question to the daemon.
package struct AgeIdentity: Sendable, Equatable {
    /// Of the key on P-256.
    package let curveKey: Data
    /// Of the key for ML-KEM-768; nil for an identity on P-256 alone.
    package let latticeKey: Data?
    package let point: TaggedPoint

    package init(curveKey: Data, latticeKey: Data? = nil, point: TaggedPoint) {
        (self.curveKey, self.latticeKey, self.point) = (curveKey, latticeKey, point)
    }

    package var kind: TaggedKind { latticeKey == nil ? .p256 : .hybrid }
    /// Every key that opening a file takes.
    package var keys: [Data] { [curveKey] + (latticeKey.map { [$0] } ?? []) }

    // MARK: text

    private static let prefix = "AGE-PLUGIN-OSTIARY-"
    private static let version: UInt8 = 1
    private static let keyByteCount = 16
    private static let numbers: [TaggedKind: UInt8] = [.p256: 1, .hybrid: 2]

    package var text: String {
        Bech32.encode(
            prefix: Self.prefix,
            [Self.version, Self.numbers[kind] ?? 0] + keys.flatMap { Array($0) } + Array(point.compressed))
    }

    package init(_ text: String) throws(AgeTextError) {
        let decoded: Bech32.Decoded
        do { decoded = try Bech32.decode(text) } catch { throw .encoding(error) }
        guard decoded.prefix.uppercased() == Self.prefix else { throw .foreign }
        var rest = decoded.bytes[...]
        guard let version = rest.popFirst(), version == Self.version, let number = rest.popFirst(),
            let kind = TaggedKind.allCases.first(where: { Self.numbers[$0] == number })
        else { throw decoded.bytes.count < 2 ? .size : .version }
        let count = Self.keyByteCount
        let keyCount = kind == .hybrid ? 2 : 1
        guard rest.count == keyCount * count + 33 else { throw .size }
        let keys = (0..<keyCount).map { Data(rest.dropFirst($0 * count).prefix(count)) }
        guard let point = TaggedPoint(compressed: Data(rest.suffix(33))) else { throw .publicKey }
        self.init(curveKey: keys[0], latticeKey: keys.count > 1 ? keys[1] : nil, point: point)
    }
}
