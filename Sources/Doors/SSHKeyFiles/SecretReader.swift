package import Foundation
package import SSHFormats
package import SecretMemory

/// Reads the data types of RFC 4251, section 5, out of bytes that hold a private key. Secret parts stay in memory for secrets; only parts
/// that everybody may see come out as `Data`.
package struct SecretReader: ~Copyable {
    private let bytes: SecretBytes
    private var position = 0

    package init(_ bytes: consuming SecretBytes) { self.bytes = bytes }

    package var remainingByteCount: Int { bytes.count - position }

    package var isAtEnd: Bool { remainingByteCount == 0 }

    /// Throws unless everything was read.
    package func finish() throws(SSHFormatError) {
        guard isAtEnd else { throw .trailingBytes }
    }

    package mutating func readByte() throws(SSHFormatError) -> UInt8 {
        guard remainingByteCount >= 1 else { throw .truncated }
        defer { position += 1 }
        let position = position
        return unsafe bytes.withUnsafeBytes { unsafe $0[position] }
    }

    package mutating func readUInt32() throws(SSHFormatError) -> UInt32 {
        guard remainingByteCount >= 4 else { throw .truncated }
        var number: UInt32 = 0
        for _ in 0..<4 { number = number << 8 | UInt32(try readByte()) }
        return number
    }

    /// Secret bytes without a length before them.
    package mutating func readSecret(count: Int) throws(SSHFormatError) -> SecretBytes {
        guard count >= 0, remainingByteCount >= count else { throw .truncated }
        defer { position += count }
        let range = position..<position + count
        return unsafe bytes.withUnsafeBytes { all in
            unsafe SecretBytes(copying: UnsafeRawBufferPointer(rebasing: all[range]))
        }
    }

    /// Secret bytes behind their length of four bytes.
    package mutating func readSecret(limit: Int) throws(SSHFormatError) -> SecretBytes {
        try readSecret(count: try readLength(limit))
    }

    /// Bytes that are no secret, behind their length.
    package mutating func readString(limit: Int) throws(SSHFormatError) -> Data {
        Data(exposing: try readSecret(count: try readLength(limit)))
    }

    /// Text in UTF-8 without a NUL, behind its length.
    package mutating func readText(limit: Int) throws(SSHFormatError) -> String {
        let bytes = try readString(limit: limit)
        guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else { throw .malformed(.text) }
        return text
    }

    /// Text that shows a key to people. Bytes that are no UTF-8 are replaced, because OpenSSH takes any.
    package mutating func readComment() throws(SSHFormatError) -> String {
        let bytes = try readString(limit: KeyFileLimits.commentByteCount)
        guard !bytes.contains(0) else { throw .malformed(.text) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A positive `mpint` in its shortest form, as big-endian bytes without leading zeros.
    package mutating func readSecretInteger(limit: Int) throws(SSHFormatError) -> SecretBytes {
        let bytes = try readSecret(limit: (limit + 7) / 8 + 1)
        let (first, second) = unsafe bytes.withUnsafeBytes { bytes in
            unsafe (bytes.first, bytes.count > 1 ? bytes[1] : nil)
        }
        guard let first, first < 0x80 else { throw .malformed(.number) }
        guard first == 0 else { return bytes }
        guard let second, second >= 0x80 else { throw .malformed(.number) }
        return unsafe bytes.withUnsafeBytes {
            unsafe SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0.dropFirst()))
        }
    }

    /// What was not read yet.
    package consuming func rest() -> SecretBytes {
        let position = position
        return unsafe bytes.withUnsafeBytes { all in
            unsafe SecretBytes(copying: UnsafeRawBufferPointer(rebasing: all[position...]))
        }
    }

    private mutating func readLength(_ limit: Int) throws(SSHFormatError) -> Int {
        let count = Int(try readUInt32())
        // What ends too early is truncated, however long it claims to be.
        guard count <= remainingByteCount else { throw .truncated }
        guard count <= limit else { throw .tooLarge }
        return count
    }
}

/// Every limit of key files and of keys that a program gives to an agent, with its reason.
package enum KeyFileLimits {
    /// A key file: the largest RSA key in base64, with room for a certificate.
    package static let fileByteCount = 128 * 1024
    /// Comments are shown on one line; OpenSSH makes them of user and host.
    package static let commentByteCount = 1024
    /// Names of ciphers and key derivations (RFC 4251, section 6).
    package static let nameByteCount = 64
    /// Salt and rounds of a key derivation: OpenSSH writes 24 bytes.
    package static let derivationByteCount = 1024
    /// Constraints by destination of one key, as in OpenSSH (`AGENT_MAX_DEST_CONSTRAINTS`).
    package static let destinationCount = 1024
    /// Keys of one host in a constraint; a host has one of each kind, and its authorities.
    package static let hopKeyCount = 256
    /// A pattern for users, as in OpenSSH (`AGENT_USER_CONSTRAINT_MAX_LEN`), which bounds the time of matching.
    package static let userPatternByteCount = 256
    /// A host's name in a constraint (RFC 1035, section 2.3.4).
    package static let hostByteCount = 255
    /// The path of a library, as the kernel takes it.
    package static let pathByteCount = 4096
    /// The handle of a key in a security key: FIDO's largest is below this.
    package static let keyHandleByteCount = 4096
}
