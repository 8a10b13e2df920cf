package import Foundation
package import SSHFormats
import SSHKeyFiles

/// A certificate of a host (`PROTOCOL.certkeys`), as far as an agent judges it: OpenSSH's agent permits a destination also by a key of
/// an authority.
package struct HostCertificate {
    package let authority: SSHPublicKey
    private let principals: [Data]
    private let validity: (from: UInt64, until: UInt64)
    private let hasCriticalOptions: Bool

    /// Reads a certificate and verifies the authority's signature.
    ///
    /// - Throws: ``SSHFormatError``, also for a key without a certificate, one of a user, and a signature that is not the authority's.
    package init(_ key: SSHPublicKey) throws(SSHFormatError) {
        guard key.isCertificate else { throw .malformed(.certificate) }
        let limit = SSHLimits.publicKeyByteCount
        var reader = SSHReader(key.blob)
        _ = try reader.readName()
        for _ in 0..<(1 + Self.keyFieldCount(of: key.type)) { _ = try reader.readString(limit: limit) }
        _ = try reader.readUInt64()
        guard try reader.readUInt32() == 2 else { throw .malformed(.certificate) }
        _ = try reader.readString(limit: limit)
        principals = try Self.strings(try reader.readString(limit: limit))
        validity = (try reader.readUInt64(), try reader.readUInt64())
        hasCriticalOptions = try !reader.readString(limit: limit).isEmpty
        for _ in 0..<2 { _ = try reader.readString(limit: limit) }
        authority = try SSHPublicKey(blob: try reader.readString(limit: limit))
        let signed = key.blob.prefix(key.blob.count - reader.remainingByteCount)
        let signature = try SSHSignature(blob: try reader.readString(limit: SSHLimits.signatureByteCount))
        try reader.finish()
        guard !authority.isCertificate, try authority.isValid(signature, of: Data(signed)) else {
            throw .malformed(.signature)
        }
    }

    /// Whether the certificate is one for `host` at this time. A certificate without names is for none, and one with an option that
    /// must be understood is not understood.
    package func isValid(for host: Data, at seconds: UInt64) -> Bool {
        validity.from <= seconds && seconds < validity.until && !hasCriticalOptions
            && principals.contains { NamePattern.matches(host, $0) }
    }

    /// How many strings the key within has.
    private static func keyFieldCount(of type: SSHKeyType) -> Int {
        switch type {
        case .ed25519: 1
        case .p256, .p384, .p521, .rsa, .securityKeyEd25519: 2
        case .securityKeyP256: 3
        }
    }

    private static func strings(_ bytes: Data) throws(SSHFormatError) -> [Data] {
        var reader = SSHReader(bytes)
        var strings: [Data] = []
        while !reader.isAtEnd { strings.append(try reader.readString(limit: SSHLimits.publicKeyByteCount)) }
        return strings
    }
}
