import Crypto
import Foundation
import IndependentTools

/// Files that OpenSSL does not write: any contents, under an authentication code that fits. OpenSSL derives its key.
struct PKCS12Maker {
    private static let salt = Data(repeating: 7, count: 8)
    private static let data = "2a864886f70d010701"
    private let key: SymmetricKey

    init(passphrase: String) throws {
        let text = passphrase.utf16.map { String(format: "%04x", $0) }.joined() + "0000"
        let salt = Self.salt.map { String(format: "%02x", $0) }.joined()
        let derived = try IndependentTool.withFolder { folder in
            try OpenSSLFolder(folder).run(
                "kdf", "-binary", "-keylen", "32", "-kdfopt", "digest:SHA2-256", "-kdfopt", "hexpass:" + text,
                "-kdfopt",
                "hexsalt:" + salt, "-kdfopt", "iter:1", "-kdfopt", "id:3", "PKCS12KDF")
        }
        key = SymmetricKey(data: derived)
    }

    // MARK: DER

    static func der(_ tag: UInt8, _ content: Data) -> Data {
        let count = content.count
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: count >> (56 - 8 * $0)) }.drop { $0 == 0 }
        return Data([tag]) + (count < 0x80 ? Data([UInt8(count)]) : Data([0x80 | UInt8(bytes.count)]) + bytes) + content
    }

    static func object(_ hexadecimal: String) -> Data {
        let digits = Array(hexadecimal)
        return der(
            6, Data(stride(from: 0, to: digits.count, by: 2).map { UInt8(String(digits[$0...$0 + 1]), radix: 16)! }))
    }

    /// The first element of `bytes`: its content, and the bytes behind it.
    private static func element(_ bytes: Data) -> (content: Data, rest: Data)? {
        let bytes = Data(bytes)
        guard bytes.count >= 2 else { return nil }
        var (count, start) = (Int(bytes[1]), 2)
        if count >= 0x80 {
            start += count & 0x7f
            guard bytes.count >= start else { return nil }
            count = bytes[2..<start].reduce(0) { $0 << 8 | Int($1) }
        }
        guard bytes.count >= start + count else { return nil }
        return (bytes[start..<start + count], bytes[(start + count)...])
    }

    // MARK: parts of a file

    /// SafeBag.
    static func bag(_ type: String, _ value: Data, attributes: Data = Data()) -> Data {
        der(0x30, object(type) + der(0xa0, value) + attributes)
    }

    /// The attributes of a bag: a name, BMPString.
    static func name(_ text: String) -> Data {
        let units = Data(text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xff)] })
        return der(0x31, der(0x30, object("2a864886f70d010914") + der(0x31, der(0x1e, units))))
    }

    static func keyBag(_ privateKeyInfo: Data) -> Data { bag("2a864886f70d010c0a0101", privateKeyInfo) }

    static func certificateBag(_ certificate: Data, attributes: Data = Data()) -> Data {
        bag(
            "2a864886f70d010c0a0103",
            der(0x30, object("2a864886f70d01091601") + der(0xa0, der(4, certificate))), attributes: attributes)
    }

    /// AuthenticatedSafe: parts that are not encrypted, each with some bags.
    static func contents(_ parts: [[Data]]) -> Data {
        der(
            0x30,
            parts.map { bags in
                der(0x30, object(data) + der(0xa0, der(4, der(0x30, bags.reduce(Data(), +)))))
            }.reduce(Data(), +))
    }

    /// AuthenticatedSafe of a whole file.
    static func contents(of file: Data) -> Data? {
        guard let version = element(element(file)?.content ?? Data()),
            let type = element(element(version.rest)?.content ?? Data()), let string = element(type.rest)
        else { return nil }
        return element(string.content).map { Data($0.content) }
    }

    /// A whole file.
    func file(_ contents: Data) -> Data {
        let code = Data(HMAC<SHA256>.authenticationCode(for: contents, using: key))
        let digest = Self.der(0x30, Self.object("608648016503040201") + Self.der(5, Data()))
        let authentication = Self.der(
            0x30, Self.der(0x30, digest + Self.der(4, code)) + Self.der(4, Self.salt) + Self.der(2, Data([1])))
        let safe = Self.der(0x30, Self.object(Self.data) + Self.der(0xa0, Self.der(4, contents)))
        return Self.der(0x30, Self.der(2, Data([3])) + safe + authentication)
    }
}
