import Crypto
import Foundation
import IndependentTools
import SSHFormats
import SSHKeyFiles
import SecretMemory
import SeededRandomness
import Testing

/// Files of `ssh-keygen`, and what is none.
@Suite("OpenSSH's private key files", .timeLimit(.minutes(10)))
struct OpenSSHKeyFileTests {
    static let types: [(String, [String])] = [
        ("ed25519", []), ("ecdsa", ["-b", "256"]), ("ecdsa", ["-b", "384"]), ("ecdsa", ["-b", "521"]),
        ("rsa", ["-b", "2048"]), ("rsa", ["-b", "3072"]),
    ]

    private let folder: KeyFileFolder

    init() throws { folder = try KeyFileFolder() }

    @Test(arguments: types) func `a key of ssh-keygen is read, with its comment`(
        type: String, options: [String]
    ) throws {
        let opened = try openedKey(try folder.make("key", type, options: options))
        #expect(opened.key.publicKey == (try folder.publicKey("key")))
        #expect(opened.comment == "comment of key")
        let isEmpty = opened.key.secret.isEmpty
        #expect(!isEmpty)
    }

    @Test func `a key says of a file with a passphrase that it is encrypted, and shows the public half`() throws {
        let bytes = try folder.make("key", "ed25519", passphrase: "correct horse")
        let file = try OpenSSHKeyFile(bytes)
        let (isEncrypted, publicKey) = (file.isEncrypted, file.publicKey)
        #expect(isEncrypted)
        #expect(publicKey == (try folder.publicKey("key")))
        #expect(throws: KeyFileError.encrypted(cipher: "aes256-ctr")) { try openedKey(bytes) }
    }

    @Test(arguments: ["aes128-cbc", "aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com"])
    func `files of OpenSSH's other ciphers are read as far as they are not encrypted`(cipher: String) throws {
        let file = try OpenSSHKeyFile(
            folder.make("key", "ed25519", passphrase: "correct horse", options: ["-Z", cipher]))
        let (isEncrypted, publicKey) = (file.isEncrypted, file.publicKey)
        #expect(isEncrypted)
        #expect(publicKey == (try folder.publicKey("key")))
    }

    @Test func `an unknown cipher and an unknown derivation are said, before anybody is asked`() throws {
        let contents = try decoded(folder.make("key", "ed25519", passphrase: "correct horse"))
        #expect(throws: KeyFileError.unknownCipher("aes256-xyz")) {
            _ = try OpenSSHKeyFile(encoded(contents.replacing("aes256-ctr", with: "aes256-xyz")))
        }
        #expect(throws: KeyFileError.unknownCipher("scrypt")) {
            _ = try OpenSSHKeyFile(encoded(contents.replacing("bcrypt", with: "scrypt")))
        }
    }

    @Test func `each file that ends too early is refused as one`() throws {
        let bytes = try folder.make("key", "ecdsa")
        // The last byte is a line end, which a file may lack.
        for count in 0..<bytes.count - 1 {
            let error = #expect(throws: KeyFileError.self, "\(count)") { try openedKey(Data(bytes.prefix(count))) }
            #expect([.notAKeyFile, .damaged(.truncated)].contains(error), "\(count): \(String(describing: error))")
        }
    }

    @Test func `contents that end too early are refused, wherever they end`() throws {
        let contents = try decoded(folder.make("key", "rsa", options: ["-b", "2048"]))
        for count in stride(from: 0, to: contents.count, by: 7) {
            #expect(throws: KeyFileError.self, "\(count)") { try openedKey(encoded(Data(contents.prefix(count)))) }
        }
    }

    @Test func `bytes behind the contents are refused`() throws {
        let contents = try decoded(folder.make("key", "ed25519"))
        #expect(throws: KeyFileError.damaged(.trailingBytes)) { try openedKey(encoded(contents + [0])) }
    }

    @Test func `a whole block of padding is read, as Python's cryptography writes it, and two are refused`() throws {
        var isPlayed = false
        for length in 1...8 {
            let name = String(repeating: "k", count: length)
            let contents = try decoded(folder.make(name, "ed25519"))
            // One of eight comments ends with the block.
            guard contents.last == UInt8(ascii: "k") else { continue }
            isPlayed = true
            let opened = try openedKey(encoded(padded(contents, by: 8)))
            #expect(opened.key.publicKey == (try folder.publicKey(name)))
            #expect(throws: KeyFileError.damaged(.trailingBytes)) { try openedKey(encoded(padded(contents, by: 16))) }
            let wrong = padded(contents, by: 8).dropLast() + [9]
            #expect(throws: KeyFileError.damaged(.malformed(.number))) { try openedKey(encoded(Data(wrong))) }
        }
        #expect(isPlayed)
    }

    /// The contents of a file with a key for Ed25519, whose private section gets the padding 1, 2, 3, ….
    private func padded(_ contents: Data, by count: Int) -> Data {
        let (place, head) = (94, 98)
        let size = UInt32(contents.count - head + count)
        let length = (0..<4).reversed().map { UInt8(truncatingIfNeeded: size >> ($0 * 8)) }
        return contents[..<place] + length + contents[head...] + (1...count).map { UInt8($0) }
    }

    @Test func `a changed bit never yields another key`() throws {
        var generator = SeededGenerator(seed: 23)
        let contents = try decoded(folder.make("key", "ed25519"))
        let publicKey = try folder.publicKey("key")
        for index in contents.indices {
            var changed = contents
            changed[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            // Only bits of the comment change nothing else.
            guard let opened = try? openedKey(encoded(changed)) else { continue }
            #expect(opened.key.publicKey == publicKey && opened.comment != "comment of key", "\(index)")
        }
    }

    @Test func `a private half of another key is refused`() throws {
        let first = try decoded(folder.make("first", "ed25519"))
        let second = try folder.make("second", "ed25519")
        let other = try openedKey(second).key.publicKey.plainBlob
        let own = try folder.publicKey("first").plainBlob
        // The public half before the private one, and only there.
        let place = try #require(first.range(of: own))
        #expect(throws: KeyFileError.mismatch) {
            try openedKey(encoded(first.replacingCharacters(in: place, with: other)))
        }
    }

    @Test func `keys in other formats are told from files that hold no key`() throws {
        #expect(throws: KeyFileError.otherFormat) {
            _ = try OpenSSHKeyFile(folder.make("key", "rsa", options: ["-b", "2048", "-m", "PEM"]))
        }
        let cases = ["", "\n", "ssh-ed25519 AAAA", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
        for text in cases {
            #expect(throws: KeyFileError.notAKeyFile, "\(text)") { _ = try OpenSSHKeyFile(Data(text.utf8)) }
        }
    }

    @Test func `more keys than one, none, and more bytes than a file has are refused`() throws {
        let contents = try decoded(folder.make("key", "ed25519"))
        // Behind magic, cipher, derivation and options: 15 + 8 + 8 + 4.
        for count: UInt8 in [0, 2] {
            var changed = contents
            changed[38] = count
            #expect(throws: KeyFileError.keyCount(UInt32(count))) { try openedKey(encoded(changed)) }
        }
        #expect(throws: KeyFileError.tooLarge) {
            _ = try OpenSSHKeyFile(Data(count: KeyFileLimits.fileByteCount + 1))
        }
    }

    @Test func `digits of base64 that nobody writes are refused`() throws {
        let text = String(decoding: try folder.make("key", "ed25519"), as: UTF8.self)
        let lines = text.split(separator: "\n").map(String.init)
        for digit in ["*", "-", "=", " "] {
            var changed = lines
            changed[1] = digit + changed[1].dropFirst()
            #expect(throws: KeyFileError.self, "\(digit)") {
                try openedKey(Data((changed.joined(separator: "\n") + "\n").utf8))
            }
        }
        #expect(throws: Never.self) { try openedKey(Data(text.replacingOccurrences(of: "\n", with: "\r\n").utf8)) }
    }

    @Test func `a stored key is read again, and one with another secret is another key`() throws {
        let key = try openedKey(folder.make("key", "ed25519")).key
        let again = try SSHPrivateKey(key.publicKey, secret: SecretBytes(copying: key.secret))
        #expect(again.kind == .ed25519 && again.publicKey == key.publicKey)
        let isSame = again.secret.isEqual(to: key.secret)
        #expect(isSame)
    }

    // MARK: contents

    private func decoded(_ file: Data) throws -> Data {
        let lines = String(decoding: file, as: UTF8.self).split(separator: "\n").dropFirst().dropLast()
        return try #require(Data(base64Encoded: lines.joined()))
    }

    private func encoded(_ contents: Data) -> Data {
        let text = contents.base64EncodedString()
        let lines = stride(from: 0, to: text.count, by: 70).map { start in
            String(text.dropFirst(start).prefix(70))
        }
        let begin = "-----BEGIN OPENSSH PRIVATE KEY-----"
        return Data(([begin] + lines + ["-----END OPENSSH PRIVATE KEY-----", ""]).joined(separator: "\n").utf8)
    }
}

extension Data {
    /// A copy with a text in place of another one of the same length or a shorter one, the first time that it stands there as a string of SSH.
    fileprivate func replacing(_ old: String, with new: String) -> Data {
        func string(_ text: String) -> Data { SSHWriter.bytes { $0.write(text: text) } }
        guard let place = range(of: string(old)) else { return self }
        return replacingCharacters(in: place, with: string(new))
    }

    fileprivate func replacingCharacters(in range: Range<Int>, with other: Data) -> Data {
        var copy = self
        copy.replaceSubrange(range, with: other)
        return copy
    }
}
