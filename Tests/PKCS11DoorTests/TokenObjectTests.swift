import Foundation
import IndependentTools
import SSHFormats
import Testing

@testable import PKCS11Door

/// What hosts see of a key and of a certificate.
@Suite("Objects of the token", .timeLimit(.minutes(10)))
struct TokenObjectTests {
    private func halves(_ key: TokenKey) throws -> (private: TokenObject, public: TokenObject) {
        let objects = key.objects
        try #require(objects.count == 2)
        return (objects[0], objects[1])
    }

    private func mechanisms(_ object: TokenObject) -> [UInt64] {
        if case .numbers(let numbers)? = object.attributes[.allowedMechanisms] { numbers } else { [] }
    }

    @Test func `a key in the enclave does not leave, asks for no login and says what it does`() throws {
        let (key, publicKey) = try halves(PlayedToken.signer)
        #expect(key.attributes[.objectClass] == .number(3) && publicKey.attributes[.objectClass] == .number(2))
        for attribute in [CryptokiAttribute.sensitive, .alwaysSensitive, .neverExtractable, .sign, .token, .local] {
            #expect(key.attributes[attribute] == .flag(true), "\(attribute)")
        }
        for attribute in [
            CryptokiAttribute.extractable, .decrypt, .derive, .isPrivate, .alwaysAuthenticate, .modifiable,
            .destroyable,
        ] { #expect(key.attributes[attribute] == .flag(false), "\(attribute)") }
        #expect(key.attributes[.value] == nil)
        #expect(key.longestResult == 64 && publicKey.longestResult == 0)
        #expect(mechanisms(key) == [0x1041, 0x1044, 0x1045, 0x1046])
        #expect(key.attributes[.id] == publicKey.attributes[.id] && key.attributes[.label] == .text("key 1"))
        #expect(key.reference != publicKey.reference && key.reference.id == publicKey.reference.id)
    }

    @Test func `a key that confirms signs with SHA-256 alone, and one that agrees does not sign`() throws {
        #expect(try mechanisms(halves(PlayedToken.confirmer).private) == [0x1041, 0x1044])
        let (deriver, _) = try halves(PlayedToken.deriver)
        #expect(mechanisms(deriver) == [0x1050])
        #expect(deriver.attributes[.derive] == .flag(true) && deriver.attributes[.sign] == .flag(false))
    }

    @Test func `a point is in DER, with the name of its curve`() throws {
        let (key, publicKey) = try halves(PlayedToken.signer)
        let curve = Data([0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07])
        for object in [key, publicKey] {
            #expect(object.attributes[.curve] == .bytes(curve))
            #expect(object.attributes[.point] == .bytes(Data([0x04, 65]) + PlayedToken.point))
            #expect(object.attributes[.keyType] == .number(3))
        }
        let wide = TokenPublicKey(.p521(Data([0x04]) + Data(count: 132)))
        #expect(wide.attributes[.point] == .bytes(Data([0x04, 0x81, 133, 0x04]) + Data(count: 132)))
        #expect(wide.longestResult == 132)
    }

    private static let modulus =
        "b1036d760678279f62fd3d05b8303438e48587f26ecefb55f9773cd437e2a58e6853b78f4bcd03e3bc596b96fc13545dd57cdc0960f5e91daef65fa0"
        + "85df9f17d2e06cf4f093f691f3617307bdcec30f5b1a12681311786db19be66e887e79a466a488fda773be386602f99519d33c0d52adf53e64586635"
        + "961884f102e33b5c821c2a9d39ba8d711bed33a22eb83d12ae8d6f951906072c0fda64c512c8e4c1dc132c816853c934b96b8e0d3320b9ea14d70996"
        + "73eb2331e5845cf9b2737847888830227f5caf5721793bf6e311882615d7a5529ed32c801b960797ed03e45469a3e8499820c818a766f0f59c0d07fa"
        + "ab2b8d56171812b80e7ad3cd593240fd"

    private static func bytes(_ hexadecimal: String) -> Data {
        let digits = Array(hexadecimal)
        return Data(
            stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...($0 + 1)]), radix: 16) })
    }

    /// The digest was computed by OpenSSL over the key's PKCS #1 form.
    @Test func `the id of a key is the SHA-1 of its bare public half`() throws {
        let key = TokenPublicKey(.rsa(modulus: Self.bytes(Self.modulus), exponent: Data([1, 0, 1])))
        #expect(key.id == Self.bytes("f29d1c700586b7a54b2d0bc3798c3bcc3bec8407"))
        #expect(key.attributes[.modulusBits] == .number(2048) && key.longestResult == 256)
    }

    @Test func `keys of SSH have the same parts`() throws {
        let blob = SSHWriter.bytes { writer in
            writer.write(text: "ssh-rsa")
            writer.write(positiveInteger: Data([1, 0, 1]))
            writer.write(positiveInteger: Self.bytes(Self.modulus))
        }
        let key = try #require(TokenPublicKey(try SSHPublicKey(blob: blob)))
        #expect(key.material == .rsa(modulus: Self.bytes(Self.modulus), exponent: Data([1, 0, 1])))
        let edwards = SSHWriter.bytes { writer in
            writer.write(text: "ssh-ed25519")
            writer.write(string: Data(repeating: 5, count: 32))
        }
        let other = try #require(TokenPublicKey(try SSHPublicKey(blob: edwards)))
        #expect(other.material == .ed25519(Data(repeating: 5, count: 32)))
        #expect(other.attributes[.keyType] == .number(0x40))
    }

    // MARK: certificates

    /// A certificate of Python's cryptography for a P-256 key, with the serial number 65281.
    private static let certificate =
        "MIIBBzCBr6ADAgECAgMA/wEwCgYIKoZIzj0EAwIwDTELMAkGA1UEAwwCbWUwHhcNMjQwMTAxMDAwMDAwWhcNNDQwMTAxMDAwMDAw"
        + "WjANMQswCQYDVQQDDAJtZTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABPnr5GQUfMEC2SMk0JnZJ8GlDkLVegihFv/sCimBnYxl"
        + "cLr30SiIkCpqDB1nrdEDEjyFmrab+OlDHJOEkw1Lfu4wCgYIKoZIzj0EAwIDRwAwRAIgJ5/WOqz9iX8r+WvOU7c4odjQ0WA+ByEN"
        + "sfprzNolwOcCIBmSH2TE30Zeejq5Lceo4b3g6evZ+c5hAukS3ep9Dbp5"

    @Test func `a certificate has the id of its key, and its names and number in DER`() throws {
        let der = try #require(Data(base64Encoded: Self.certificate))
        let found = try #require(TokenCertificate(id: Data(count: 16), label: "", der: der))
        let attributes = found.object.attributes
        let point = Self.bytes(
            "04f9ebe464147cc102d92324d099d927c1a50e42d57a08a116ffec0a29819d8c6570baf7d12888902a6a0c1d67add103123c859ab69bf8e9431c9384"
                + "930d4b7eee")
        #expect(attributes[.id] == .bytes(TokenPublicKey(.p256(point)).id))
        #expect(attributes[.subject] == .bytes(Self.bytes("300d310b300906035504030c026d65")))
        #expect(attributes[.issuer] == attributes[.subject])
        #expect(attributes[.serialNumber] == .bytes(Data([0x02, 0x03, 0x00, 0xFF, 0x01])))
        #expect(attributes[.value] == .bytes(der) && attributes[.objectClass] == .number(1))
        #expect(attributes[.label] == .text("me"))
        #expect(
            TokenCertificate(id: Data(count: 16), label: "tls", der: der)?.object.attributes[.label] == .text("tls"))
    }

    @Test func `data that is no certificate is not shown`() throws {
        let der = try #require(Data(base64Encoded: Self.certificate))
        for wrong in [Data(), Data("text".utf8), Data(der.dropLast()), der + [0]] {
            #expect(TokenCertificate(id: Data(count: 16), label: "", der: wrong) == nil)
        }
        #expect(TokenCertificate(id: Data(count: 15), label: "", der: der) == nil)
    }

    /// - Parameter count: of the bytes in an extension. A signature with Ed25519 always has the same length.
    private func certificate(withExtensionOf count: Int, _ openssl: OpenSSLFolder) throws -> Data {
        try openssl.write("extensions", Data("1.2.3.4=DER:\(String(repeating: "61", count: count))".utf8))
        return try openssl.run(
            "x509", "-new", "-force_pubkey", "@key.pub", "-key", "@key", "-subj", "/CN=me", "-set_serial", "1",
            "-days", "2", "-extfile", "@extensions", "-outform", "DER")
    }

    @Test func `a certificate that no message carries is not shown`() throws {
        try IndependentTool.withFolder { folder in
            let openssl = OpenSSLFolder(folder)
            try openssl.run("genpkey", "-algorithm", "ED25519", "-out", "@key")
            try openssl.run("pkey", "-in", "@key", "-pubout", "-out", "@key.pub")
            let some = try certificate(withExtensionOf: 30_000, openssl)
            let count = 30_000 + PKCS11Limits.valueByteCount - some.count
            let longest = try certificate(withExtensionOf: count, openssl)
            try #require(longest.count == PKCS11Limits.valueByteCount)
            #expect(TokenCertificate(id: Data(count: 16), label: "", der: longest) != nil)
            let tooLong = try certificate(withExtensionOf: count + 1, openssl)
            #expect(TokenCertificate(id: Data(count: 16), label: "", der: tooLong) == nil)
        }
    }
}
