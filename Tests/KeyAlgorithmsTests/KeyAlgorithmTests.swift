import KeyAlgorithms
import Testing

@Suite struct KeyAlgorithmTests {
    static let all =
        AlgorithmStrings.signatures + AlgorithmStrings.encryptions + AlgorithmStrings.keyExchanges
        + AlgorithmStrings.rsaSignatures + AlgorithmStrings.rsaEncryptions

    @Test func `the known algorithms are Apple's, no more and no fewer`() {
        #expect(KeyAlgorithm.all.map(\.rawValue) == Self.all.sorted())
        #expect(Self.all.count == 87)
    }

    @Test(arguments: all) func `a string survives parsing`(name: String) throws {
        #expect(try #require(KeyAlgorithm(rawValue: name)).rawValue == name)
    }

    @Test(arguments: [
        "", " ", "algid:", "algid:sign:ECDSA:message-X962", "algid:sign:ECDSA:message-X962:SHA3-256",
        "algid:sign:ECDSA:message-X962:SHA256 ", "ALGID:SIGN:ECDSA:MESSAGE-X962:SHA256",
        "algid:sign:ECDSA:message-X962:SHA256\0", "algid:encrypt:ECIES:ECDH:KDFX963:SHA1:AESGCM-KDFIV",
        "algid:encrypt:ECIES:ECDH:SHA256:2PubKeys", "algid:keyexchange:ECDH:KDFX963",
        "algid:sign:RSA:digest-PSS:SHA224:SHA224:28", "algid:kem:ML-KEM", "algid:sign:ML-DSA:message",
    ])
    func `a string that is none of Apple's public names has no value`(name: String) {
        #expect(KeyAlgorithm(rawValue: name) == nil)
    }

    @Test(arguments: AlgorithmStrings.signatures) func `a signature signs and verifies`(name: String) {
        #expect(operations(name) == [.sign, .verify])
    }

    @Test(arguments: AlgorithmStrings.encryptions) func `an encryption encrypts and decrypts`(name: String) {
        #expect(operations(name) == [.encrypt, .decrypt])
    }

    @Test(arguments: AlgorithmStrings.keyExchanges) func `a key exchange exchanges`(name: String) {
        #expect(operations(name) == [.keyExchange])
    }

    @Test(arguments: AlgorithmStrings.rsaSignatures + AlgorithmStrings.rsaEncryptions)
    func `an RSA algorithm is known and supports nothing`(name: String) {
        #expect(operations(name) == [])
        #expect(KeyAlgorithm(name).digestForm == nil)
    }

    private func operations(_ name: String) -> [KeyOperation] {
        KeyOperation.allCases.filter(KeyAlgorithm(name).supports)
    }

    @Test func `only the private half signs, decrypts and exchanges`() {
        #expect(KeyOperation.allCases.filter(\.usesPrivateKey) == [.sign, .decrypt, .keyExchange])
        #expect(Set(KeyAlgorithm.all.map(\.privateOperation)) == [.sign, .decrypt, .keyExchange, nil])
        #expect(Set(KeyAlgorithm.all.map(\.publicOperation)) == [.verify, .encrypt, nil])
    }

    @Test(arguments: [
        (
            "algid:sign:ECDSA:message-X962:SHA224",
            KeyAlgorithm.Kind.signature(encoding: .x962, input: .message(.sha224))
        ),
        ("algid:sign:ECDSA:digest-X962", .signature(encoding: .x962, input: .digest(nil))),
        ("algid:sign:ECDSA:digest-RFC4754:SHA512", .signature(encoding: .rfc4754, input: .digest(.sha512))),
        ("algid:sign:ECDSA:RFC4754", .signature(encoding: .rfc4754, input: .digest(nil))),
        (
            "algid:encrypt:ECIES:ECDH:KDFX963:SHA1:AESGCM",
            .encryption(hash: .sha1, hasVariableIV: false, usesCofactor: false)
        ),
        (
            "algid:encrypt:ECIES:ECDHC:KDFX963:SHA384:AESGCM-KDFIV",
            .encryption(hash: .sha384, hasVariableIV: true, usesCofactor: true)
        ),
        ("algid:keyexchange:ECDH", .keyExchange(kdf: nil, usesCofactor: false)),
        ("algid:keyexchange:ECDHC:KDFX963:SHA256", .keyExchange(kdf: .sha256, usesCofactor: true)),
        ("algid:sign:RSA:raw", .rsaSignature(.none, input: .digest(nil))),
        ("algid:sign:RSA:digest-PKCS1v15", .rsaSignature(.pkcs1v15, input: .digest(nil))),
        ("algid:sign:RSA:message-PSS:SHA224:SHA224:24", .rsaSignature(.pss, input: .message(.sha224))),
        ("algid:sign:RSA:digest-PKCS1v15:SHA1", .rsaSignature(.pkcs1v15, input: .digest(.sha1))),
        ("algid:encrypt:RSA:raw", .rsaEncryption(.none)), ("algid:encrypt:RSA:PKCS1", .rsaEncryption(.pkcs1v15)),
        ("algid:encrypt:RSA:OAEP:SHA512", .rsaEncryption(.oaep(.sha512))),
        ("algid:encrypt:RSA:OAEP:SHA1:AESGCM", .rsaEncryption(.oaepAESGCM(.sha1))),
    ])
    func `a string means its parts`(name: String, kind: KeyAlgorithm.Kind) {
        #expect(KeyAlgorithm(name).kind == kind)
    }

    @Test(arguments: [
        KeyAlgorithm.Kind.rsaSignature(.pss, input: .digest(nil)), .rsaSignature(.none, input: .message(.sha256)),
        .encryption(hash: .sha1, hasVariableIV: true, usesCofactor: false),
    ])
    func `a combination without a name has no algorithm`(kind: KeyAlgorithm.Kind) {
        #expect(KeyAlgorithm(kind: kind) == nil)
    }

    @Test(arguments: AlgorithmStrings.signatures) func `the digest form names the same hash and encoding`(name: String)
    {
        let expected = name.replacing("message-", with: "digest-")
        #expect(KeyAlgorithm(name).digestForm?.rawValue == expected)
    }

    @Test(arguments: AlgorithmStrings.encryptions + AlgorithmStrings.keyExchanges)
    func `what signs nothing has no digest form`(name: String) {
        #expect(KeyAlgorithm(name).digestForm == nil)
    }
}
