import Foundation
package import SSHFormats
package import SecretMemory

/// A file with one private key in OpenSSH's format (`PROTOCOL.key`). The whole file is secret.
package struct OpenSSHKeyFile: ~Copyable {
    /// What stands before the private half.
    package let publicKey: SSHPublicKey
    private let cipher: String
    private let sealed: SecretBytes

    private static let begin = "-----BEGIN OPENSSH PRIVATE KEY-----"
    private static let end = "-----END OPENSSH PRIVATE KEY-----"
    private static let magic = "openssh-key-v1\0"

    /// What OpenSSH writes or wrote. A file of any other cipher is refused before somebody is asked for a passphrase.
    private static let ciphers: Set = [
        "aes128-cbc", "aes192-cbc", "aes256-cbc", "aes128-ctr", "aes192-ctr", "aes256-ctr", "aes128-gcm@openssh.com",
        "aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com", "3des-cbc",
    ]

    /// Reads a file. Nothing is decrypted.
    ///
    /// - Throws: ``KeyFileError``.
    package init(_ file: borrowing SecretBytes) throws(KeyFileError) {
        guard file.count <= KeyFileLimits.fileByteCount else { throw .tooLarge }
        do {
            var reader = SecretReader(try Self.contents(of: file))
            guard try reader.readSecret(count: Self.magic.utf8.count).isEqual(to: Self.magic) else {
                throw KeyFileError.notAKeyFile
            }
            let cipher = try reader.readText(limit: KeyFileLimits.nameByteCount)
            let derivation = try reader.readText(limit: KeyFileLimits.nameByteCount)
            let options = try reader.readString(limit: KeyFileLimits.derivationByteCount)
            try Self.check(cipher, derivation, options)
            let count = try reader.readUInt32()
            guard count == 1 else { throw KeyFileError.keyCount(count) }
            let blob = try reader.readString(limit: SSHLimits.publicKeyByteCount)
            let sealed = try reader.readSecret(limit: KeyFileLimits.fileByteCount)
            try Self.readTag(&reader, cipher)
            publicKey = try Self.publicKey(blob)
            self.cipher = cipher
            self.sealed = sealed
        } catch let error as KeyFileError { throw error } catch {
            throw .damaged(error as? SSHFormatError ?? .truncated)
        }
    }

    package var isEncrypted: Bool { cipher != "none" }

    /// The private key of a file that is not encrypted.
    ///
    /// - Throws: ``KeyFileError``; `encrypted` when a passphrase is needed.
    package consuming func open() throws(KeyFileError) -> CommentedKey {
        guard cipher == "none" else { throw .encrypted(cipher: cipher) }
        let expected = publicKey
        do {
            // Unencrypted blocks have eight bytes.
            guard sealed.count.isMultiple(of: 8) else { throw SSHFormatError.truncated }
            var reader = SecretReader(sealed)
            guard try reader.readUInt32() == reader.readUInt32() else { throw SSHFormatError.malformed(.number) }
            let key = try SSHPrivateKey(fieldsFrom: &reader)
            let comment = try reader.readComment()
            try Self.readPadding(&reader)
            guard key.publicKey == expected else { throw KeyFileError.mismatch }
            return CommentedKey(key, comment: comment)
        } catch let error as KeyFileError { throw error } catch {
            throw .damaged(error as? SSHFormatError ?? .truncated)
        }
    }

    // MARK: its parts

    private static func check(_ cipher: String, _ derivation: String, _ options: Data) throws(KeyFileError) {
        if cipher == "none" {
            guard derivation == "none", options.isEmpty else { throw .damaged(.malformed(.text)) }
            return
        }
        guard ciphers.contains(cipher) else { throw .unknownCipher(cipher) }
        guard derivation == "bcrypt" else { throw .unknownCipher(derivation) }
    }

    private static func publicKey(_ blob: Data) throws -> SSHPublicKey {
        do { return try SSHPublicKey(blob: blob) } catch SSHFormatError.unsupported(.keyType) {
            var reader = SSHReader(blob)
            throw KeyFileError.unsupported(keyType: try reader.readName())
        }
    }

    /// Behind the private half stands the tag of a cipher that has one, and nothing else.
    private static func readTag(_ reader: inout SecretReader, _ cipher: String) throws {
        switch cipher {
        case "aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com":
            _ = try reader.readSecret(count: 16)
        default: break
        }
        try reader.finish()
    }

    /// 1, 2, 3, … up to the end of the block. Python's `cryptography` adds a whole block where none is needed.
    private static func readPadding(_ reader: inout SecretReader) throws {
        guard reader.remainingByteCount <= 8 else { throw SSHFormatError.trailingBytes }
        for expected in 1..<(UInt8(reader.remainingByteCount) + 1) {
            guard try reader.readByte() == expected else { throw SSHFormatError.malformed(.number) }
        }
    }

    // MARK: its armour

    /// The bytes that the lines of base64 stand for.
    private static func contents(of file: borrowing SecretBytes) throws -> SecretBytes {
        try unsafe file.withUnsafeBytes { bytes in
            let lines = unsafe bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: true)
            guard let first = unsafe lines.first, unsafe first.isLine(begin) else {
                let isOther = unsafe lines.first?.isLine(beginning: "-----BEGIN ", ending: "PRIVATE KEY-----") ?? false
                throw isOther ? KeyFileError.otherFormat : KeyFileError.notAKeyFile
            }
            guard let last = unsafe lines.last, unsafe last.isLine(end) else { throw SSHFormatError.truncated }
            var decoder = SecretBase64(capacity: bytes.count / 4 * 3 + 3)
            for index in unsafe first.endIndex..<last.startIndex {
                let byte = unsafe bytes[index]
                if byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") { try decoder.add(byte) }
            }
            return try decoder.finish()
        }
    }
}

/// Decodes base64 (RFC 4648, section 4) into memory for secrets. Foundation's decoder leaves copies in ordinary memory.
private struct SecretBase64: ~Copyable {
    private var decoded: SecretBytes
    private var count = 0
    private var (bits, bitCount): (UInt32, Int) = (0, 0)
    private var (digits, paddings) = (0, 0)

    init(capacity: Int) { decoded = SecretBytes(zeroed: capacity) }

    mutating func add(_ byte: UInt8) throws(SSHFormatError) {
        digits += 1
        if byte == UInt8(ascii: "=") {
            paddings += 1
            return
        }
        guard paddings == 0, let value = Self.value(byte) else { throw .malformed(.base64) }
        (bits, bitCount) = (bits << 6 | value, bitCount + 6)
        guard bitCount >= 8 else { return }
        bitCount -= 8
        let (octet, index) = (UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)), count)
        unsafe decoded.withUnsafeMutableBytes { unsafe $0[index] = octet }
        count += 1
        bits &= (1 << UInt32(bitCount)) - 1
    }

    consuming func finish() throws(SSHFormatError) -> SecretBytes {
        guard digits.isMultiple(of: 4), paddings == bitCount / 2, bits == 0 else {
            throw digits.isMultiple(of: 4) ? .malformed(.base64) : .truncated
        }
        let count = count
        return decoded.prefix(count)
    }

    private static func value(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}

extension Slice<UnsafeRawBufferPointer> {
    /// Whether the line is `text`, perhaps with a carriage return behind it.
    fileprivate func isLine(_ text: String) -> Bool {
        if unsafe elementsEqual(text.utf8) { return true }
        return unsafe elementsEqual((text + "\r").utf8)
    }

    fileprivate func isLine(beginning start: String, ending end: String) -> Bool {
        // Foundation's `trimmingCharacters` would load Foundation and ICU into each door.
        var text = unsafe String(decoding: self, as: UTF8.self)[...]
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text.hasPrefix(start) && text.hasSuffix(end)
    }
}

extension SecretBytes {
    /// Whether the bytes are those of a text that everybody knows.
    fileprivate func isEqual(to text: String) -> Bool {
        unsafe withUnsafeBytes { unsafe $0.elementsEqual(text.utf8) }
    }
}
