import Crypto
public import Foundation

/// SHA-256 of a public key's blob, as `ssh-keygen -l` shows it. A certificate has the fingerprint of the key within.
public struct SSHFingerprint: Hashable, Sendable, CustomStringConvertible {
    /// 32 bytes.
    public let bytes: Data

    init(ofBlob blob: Data) { bytes = Data(SHA256.hash(data: blob)) }

    /// Nil unless there are 32 bytes.
    public init?(bytes: some Sequence<UInt8>) {
        let bytes = Data(bytes)
        guard bytes.count == SHA256.byteCount else { return nil }
        self.bytes = bytes
    }

    /// Reads ``description``, and nothing that is written otherwise.
    public init(_ text: String) throws(SSHFormatError) {
        let digits = text.utf8.dropFirst(Self.prefix.utf8.count)
        // 43 digits stand for 32 bytes; the padding is left out.
        guard text.utf8.starts(with: Self.prefix.utf8), digits.count == 43,
            let bytes = Data(base64Encoded: Data(digits) + Data("=".utf8)),
            let fingerprint = SSHFingerprint(bytes: bytes), fingerprint.description == text
        else { throw .malformed(.fingerprint) }
        self = fingerprint
    }

    private static let prefix = "SHA256:"

    /// `SHA256:` and base64 without padding.
    public var description: String { Self.prefix + bytes.base64EncodedString().prefix { $0 != "=" } }
}
