import Crypto
public import Foundation

/// A public key, or a certificate with the key within.
///
/// Only the one form of each key is read, and points lie on their curve. So two blobs of plain keys differ if the keys do, and
/// the other way round.
public struct SSHPublicKey: Hashable, Sendable {
    /// The bytes that ``init(blob:)`` read: of a certificate all of them.
    public let blob: Data
    public let type: SSHKeyType
    /// The plain key's blob, which is ``blob`` but for a certificate.
    public let plainBlob: Data
    let material: Material

    /// What checks signatures.
    enum Material: Hashable, Sendable {
        /// 32 bytes.
        case ed25519(Data)
        /// `04 ‖ X ‖ Y`.
        case point(Data)
        /// Big-endian, without leading zeros.
        case rsa(exponent: Data, modulus: Data)
    }

    public var isCertificate: Bool { blob != plainBlob }

    /// The key without its certificate.
    public var plain: SSHPublicKey {
        SSHPublicKey(blob: plainBlob, type: type, plainBlob: plainBlob, material: material)
    }

    /// The name at the beginning of the blob.
    public var name: String { isCertificate ? type.certificateName : type.name }

    /// Of the plain key, also for a certificate, as OpenSSH has it.
    public var fingerprint: SSHFingerprint { SSHFingerprint(ofBlob: plainBlob) }

    /// The point `04 ‖ X ‖ Y` of a key on a curve of NIST; nil for other keys.
    public var x963: Data? {
        if case .point(let point) = material { point } else { nil }
    }

    /// Whether both are the same key, with a certificate or without.
    public func isSameKey(as other: SSHPublicKey) -> Bool { plainBlob == other.plainBlob }

    private init(blob: Data, type: SSHKeyType, plainBlob: Data, material: Material) {
        (self.blob, self.type, self.plainBlob, self.material) = (blob, type, plainBlob, material)
    }

    /// A P-256 key of its point `04 ‖ X ‖ Y`.
    public init(p256 x963: Data) throws(SSHFormatError) {
        try Self.requirePoint(x963, of: .p256)
        let blob = SSHWriter.bytes { writer in
            writer.write(text: SSHKeyType.p256.name)
            writer.write(text: "nistp256")
            writer.write(string: x963)
        }
        self.init(blob: blob, type: .p256, plainBlob: blob, material: .point(x963))
    }

    /// Reads a public key or certificate (RFC 4253, 5656, 8709; `PROTOCOL.certkeys`, `PROTOCOL.u2f`) of at most
    /// ``SSHLimits/publicKeyByteCount`` bytes. The signature and the dates of a certificate are not looked at: the key within is what
    /// signs.
    public init(blob: Data) throws(SSHFormatError) {
        guard blob.count <= SSHLimits.publicKeyByteCount else { throw .tooLarge }
        var reader = SSHReader(blob)
        let name = try reader.readName()
        guard let type = SSHKeyType.allCases.first(where: { [$0.name, $0.certificateName].contains(name) }) else {
            throw .unsupported(.keyType)
        }
        let isCertificate = name == type.certificateName
        if isCertificate { _ = try reader.readString(limit: SSHLimits.publicKeyByteCount) }
        let (material, fields) = try Self.readKey(type, from: &reader)
        if isCertificate { try Self.skipCertificate(in: &reader) }
        try reader.finish()
        let plainBlob = SSHWriter.bytes { writer in
            writer.write(text: type.name)
            writer.write(fixed: fields)
        }
        self.init(blob: Data(blob), type: type, plainBlob: plainBlob, material: material)
    }

    /// Reads the fields of the key itself; returns them as they are written.
    private static func readKey(
        _ type: SSHKeyType, from reader: inout SSHReader
    ) throws(SSHFormatError) -> (Material, fields: Data) {
        var fields = SSHWriter()
        let material: Material
        switch type {
        case .ed25519, .securityKeyEd25519:
            let key = try reader.readString(limit: SSHLimits.publicKeyByteCount)
            guard key.count == 32 else { throw .malformed(.point) }
            fields.write(string: key)
            material = .ed25519(key)
        case .p256, .p384, .p521, .securityKeyP256:
            let curve = try reader.readName()
            guard curve == type.curveName else { throw .malformed(.curve) }
            let point = try reader.readString(limit: SSHLimits.publicKeyByteCount)
            try requirePoint(point, of: type)
            fields.write(text: curve)
            fields.write(string: point)
            material = .point(point)
        case .rsa:
            let exponent = try reader.readPositiveInteger(limit: 32)
            let modulus = try reader.readPositiveInteger(limit: SSHLimits.modulusBitCount)
            try requireRSA(exponent: exponent, modulus: modulus)
            fields.write(positiveInteger: exponent)
            fields.write(positiveInteger: modulus)
            material = .rsa(exponent: exponent, modulus: modulus)
        }
        if [.securityKeyEd25519, .securityKeyP256].contains(type) {
            fields.write(text: try reader.readText(limit: SSHLimits.applicationByteCount))
        }
        return (material, fields.bytes)
    }

    private static func requirePoint(_ point: Data, of type: SSHKeyType) throws(SSHFormatError) {
        // Said here, not left to the library, which may come to read the other forms.
        guard let count = type.fieldByteCount, point.count == 1 + 2 * count, point.first == 0x04 else {
            throw .malformed(.point)
        }
        do {
            switch type {
            case .p384: _ = try P384.Signing.PublicKey(x963Representation: point)
            case .p521: _ = try P521.Signing.PublicKey(x963Representation: point)
            default: _ = try P256.Signing.PublicKey(x963Representation: point)
            }
        } catch { throw .malformed(.point) }
    }

    private static func requireRSA(exponent: Data, modulus: Data) throws(SSHFormatError) {
        guard let last = exponent.last, last & 1 == 1, exponent != Data([1]) else { throw .malformed(.exponent) }
        let bitCount = modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
        guard let end = modulus.last, end & 1 == 1 else { throw .malformed(.modulus) }
        guard bitCount >= SSHLimits.leastModulusBitCount else { throw .unsupported(.modulus) }
    }

    /// Reads the fields behind the key in a certificate: serial, type, id, principals, dates, options, extensions, the authority's key
    /// and its signature.
    private static func skipCertificate(in reader: inout SSHReader) throws(SSHFormatError) {
        let limit = SSHLimits.publicKeyByteCount
        _ = try reader.readUInt64()
        // 1 for a user, 2 for a host.
        guard (1...2).contains(try reader.readUInt32()) else { throw .malformed(.certificate) }
        _ = try reader.readString(limit: limit)
        _ = try reader.readString(limit: limit)
        _ = try reader.readUInt64()
        _ = try reader.readUInt64()
        for _ in 0..<5 { _ = try reader.readString(limit: limit) }
    }
}

extension SSHPublicKey {
    /// Type and base64, as a line of `authorized_keys` or a `.pub` file has them, without a comment.
    public var line: String { "\(name) \(blob.base64EncodedString())" }

    /// Reads a line of a `.pub` file, with a comment or without. Options as in `authorized_keys` are refused.
    public init(line: String) throws(SSHFormatError) {
        let parts = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: true)
        guard parts.count >= 2, line.utf8.count <= 2 * SSHLimits.publicKeyByteCount,
            let blob = Data(base64Encoded: String(parts[1].withoutOuterNewlines))
        else { throw .malformed(.base64) }
        try self.init(blob: blob)
        guard name == parts[0] else { throw .malformed(.keyType) }
    }
}

extension Substring {
    /// Foundation's `trimmingCharacters` would load Foundation and ICU into each door.
    fileprivate var withoutOuterNewlines: Substring {
        let kept = drop(while: \.isNewline)
        guard let last = kept.lastIndex(where: { !$0.isNewline }) else { return "" }
        return kept[...last]
    }
}
