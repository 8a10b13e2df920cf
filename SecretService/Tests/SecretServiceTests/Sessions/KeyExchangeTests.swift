import Foundation
import IndependentTools
import SecretMemory
import SeededRandomness
import Testing

@testable import SessionCiphers

/// One side of an exchange, whose secrets a test looks at.
private final class Side {
    private let exchange = KeyExchange()
    var publicValue: [UInt8] { exchange.publicValue }

    func secret(with peer: [UInt8]) -> [UInt8]? { read(exchange.sharedSecret(with: peer)) }
}

private func read(_ secret: consuming SecretBytes?) -> [UInt8]? {
    guard let secret else { return nil }
    return secret.withUnsafeBytes { Array($0) }
}

/// The exchange of keys, and the cipher of a session. Another implementation computes the same.
@Suite struct KeyExchangeTests {
    private func number(_ change: Int) throws -> [UInt8] {
        // p, and numbers beside it: the last byte of p is 0xff, and the one before it, too.
        var bytes = KeyExchange.modulus
        guard change != 0 else { return bytes }
        if change > 0 {
            var index = bytes.count - 1
            while bytes[index] == 0xff {
                bytes[index] = 0
                index -= 1
            }
            bytes[index] += 1
        } else {
            bytes[bytes.count - 1] -= UInt8(-change)
        }
        return bytes
    }

    @Test func `both sides have the same secret`() throws {
        let (one, other) = (Side(), Side())
        let first = try #require(one.secret(with: other.publicValue))
        let second = try #require(other.secret(with: one.publicValue))
        #expect(first == second && first.count == 128)
    }

    @Test func `a number without its zeros in front is the same number`() throws {
        let exchange = Side()
        let short: [UInt8] = [2]
        let long = [UInt8](repeating: 0, count: 127) + short
        #expect(exchange.secret(with: short) == exchange.secret(with: long))
        // 2 to the power of the secret number: the public value.
        #expect(exchange.secret(with: short) == exchange.publicValue)
    }

    @Test func `numbers that everybody can compute with are refused`() throws {
        let exchange = Side()
        let zeros = [UInt8](repeating: 0, count: 127)
        for refused in [
            zeros + [0], zeros + [1], [0], [1], try number(-1), try number(0), try number(1),
            [UInt8](repeating: 0xff, count: 128),
        ] {
            #expect(exchange.secret(with: refused) == nil, "\(refused.suffix(2))")
        }
        #expect(exchange.secret(with: try number(-2)) != nil, "p - 2 is a number of the group")
    }

    @Test func `numbers of another length are refused`() {
        let exchange = Side()
        #expect(exchange.secret(with: []) == nil)
        #expect(exchange.secret(with: [0] + exchange.publicValue) == nil)
        #expect(exchange.secret(with: exchange.publicValue + [0]) == nil)
    }

    private struct Exchanged: Codable {
        var theirs: String
        var shared: String
        var key: String
    }

    /// Python computes the secret and the key from a number of ours, and its own.
    @Test func `another implementation gets the same secret and the same key`() throws {
        let exchange = Side()
        let script = """
            from cryptography.hazmat.primitives.kdf.hkdf import HKDF
            from cryptography.hazmat.primitives import hashes
            import secrets
            p = int.from_bytes(base64.b64decode(cases[0]), "big")
            ours = int.from_bytes(base64.b64decode(cases[1]), "big")
            number = secrets.randbelow(p - 2) + 1
            shared = pow(ours, number, p).to_bytes(128, "big")
            key = HKDF(algorithm=hashes.SHA256(), length=16, salt=None, info=b"").derive(shared)
            theirs = pow(2, number, p).to_bytes(128, "big")
            def text(bytes): return base64.b64encode(bytes).decode()
            print(json.dumps({"theirs": text(theirs), "shared": text(shared), "key": text(key)}))
            """
        let input = [KeyExchange.modulus, exchange.publicValue].map { Data($0).base64EncodedString() }
        let theirs = try IndependentTool.python(script, input, returning: Exchanged.self)
        let peer = try #require(Data(base64Encoded: theirs.theirs))
        let shared = try #require(exchange.secret(with: Array(peer)))
        #expect(Data(shared).base64EncodedString() == theirs.shared)
        let key = try #require(Data(base64Encoded: theirs.key))
        let session = SessionKey(sharedSecret: SecretBytes(Data(shared)))
        let sealed = session.encrypt(SecretBytes(Data("a secret".utf8)))
        #expect(try Self.decrypt(sealed.value, key: key, vector: sealed.vector) == Data("a secret".utf8))
    }

    private static func decrypt(_ value: [UInt8], key: Data, vector: [UInt8]) throws -> Data {
        func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
            bytes.map { String(format: "%02x", $0) }.joined()
        }
        let outcome = try IndependentTool.run(
            "openssl", ["enc", "-d", "-aes-128-cbc", "-K", hexadecimal(key), "-iv", hexadecimal(vector)],
            input: Data(value))
        guard outcome.status == 0 else { throw IndependentTool.Failure(diagnostics: outcome.diagnostics) }
        return outcome.output
    }
}

@Suite struct SessionKeyTests {
    private let key: SessionKey

    init() throws {
        let shared = try #require(Side().secret(with: Side().publicValue))
        key = SessionKey(sharedSecret: SecretBytes(Data(shared)))
    }

    private func encrypted(_ text: String) -> (vector: [UInt8], value: [UInt8]) {
        key.encrypt(SecretBytes(Data(text.utf8)))
    }

    private func decrypted(_ value: some Sequence<UInt8>, _ vector: [UInt8]) -> String? {
        read(key.decrypt(SecretBytes(Data(value)), vector: vector)).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: [0, 1, 15, 16, 17, 4096]) func `a secret of any length comes back`(count: Int) {
        let secret = String(repeating: "x", count: count)
        let sealed = encrypted(secret)
        #expect(sealed.vector.count == 16 && sealed.value.count == (count / 16 + 1) * 16)
        #expect(decrypted(sealed.value, sealed.vector) == secret)
    }

    @Test func `no two encryptions are the same`() {
        let (one, other) = (encrypted("x"), encrypted("x"))
        #expect(one.vector != other.vector && one.value != other.value)
    }

    @Test func `what is no encryption is refused`() {
        let sealed = encrypted("a secret")
        let value = sealed.value
        #expect(decrypted([], sealed.vector) == nil)
        for count in 1..<16 {
            #expect(decrypted(value.prefix(count), sealed.vector) == nil)
        }
        #expect(decrypted(value + [0], sealed.vector) == nil)
        #expect(decrypted(value, []) == nil)
        #expect(decrypted(value, sealed.vector + [0]) == nil)
        // A padding of zeros is none. The vector's last byte changes the block's last one.
        var vector = sealed.vector
        vector[15] ^= 8
        #expect(decrypted(value, vector) == nil)
    }

    @Test func `changed bytes give another secret or none, and nothing traps`() {
        let sealed = encrypted("a secret of more than one block")
        for index in sealed.value.indices {
            var value = sealed.value
            value[index] ^= 1
            let changed = decrypted(value, sealed.vector)
            #expect(changed != "a secret of more than one block")
        }
    }
}
