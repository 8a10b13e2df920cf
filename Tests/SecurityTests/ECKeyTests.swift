import Foundation
import IndependentTools
import KeyAlgorithms
@testable import Security
import Testing

@Suite struct ECKeyTests {
    @Test(arguments: Keys.curves) func `case 90: an exported key has its length and is the same key again`(size: Int)
        throws
    {
        let key = try Keys.curve(size)
        let publicKey = try Keys.publicKey(key)
        let field = (size + 7) / 8
        let (privateBytes, publicBytes) = (try Keys.bytes(key), try Keys.bytes(publicKey))
        #expect(publicBytes.count == 2 * field + 1)
        #expect(privateBytes.count == 3 * field + 1)
        #expect(privateBytes.prefix(2 * field + 1) == publicBytes)
        #expect(SecKeyGetBlockSize(key) == field && SecKeyGetBlockSize(publicKey) == field)

        let signature = try Keys.sign(key, .ecdsaSignatureMessageX962SHA256, Data("old".utf8))
        let again = try Keys.read(privateBytes, kSecAttrKeyTypeEC, kSecAttrKeyClassPrivate)
        #expect(again == key && again.hash == key.hash)
        #expect(try Keys.publicKey(again) == publicKey)
        let publicAgain = try Keys.read(publicBytes, 73, 0)
        #expect(publicAgain == publicKey && publicAgain != key)
        try Keys.verify(publicAgain, .ecdsaSignatureMessageX962SHA256, Data("old".utf8), signature)
        #expect(try Keys.curve(size) != key)
    }

    @Test(arguments: [192, 224, 255, 0, -1, 1_000_000]) func `a size that is not made is refused`(size: Int) {
        expectStatus(errSecParam) { try Keys.curve(size) }
    }

    @Test func `parameters may be numbers or text, and must be there`() throws {
        #expect(try SecKeyGetBlockSize(Keys.random("73" as CFString, "256")) == 32)
        let refused: [[CFString: Any]] = [
            [:], [kSecAttrKeyType: kSecAttrKeyTypeEC], [kSecAttrKeySizeInBits: 256],
            [kSecAttrKeyType: "105", kSecAttrKeySizeInBits: 256],
            [kSecAttrKeyType: Data(), kSecAttrKeySizeInBits: 256],
            [kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: "large"],
            [kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: 256, kSecPrivateKeyAttrs: "none"],
            [kSecAttrKeyType: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits: 256, kSecAttrIsPermanent: "yes"],
        ]
        for parameters in refused {
            expectStatus(errSecParam, "\(parameters)") {
                try Keys.attempt { SecKeyCreateRandomKey(parameters as CFDictionary, $0) }
            }
        }
        expectStatus(errSecParam) { try Keys.attempt { SecKeyCreateRandomKey([1: 2] as CFDictionary, $0) } }
    }

    @Test func `bytes that are no key are refused`() throws {
        let key = try Keys.curve(256)
        let (privateBytes, publicBytes) = (try Keys.bytes(key), try Keys.bytes(Keys.publicKey(key)))
        var offCurve = publicBytes
        offCurve[40] ^= 1
        var foreign = privateBytes
        foreign[80] ^= 1
        let compressed = Data([0x02 + publicBytes[64] % 2]) + publicBytes[1..<33]
        for bytes in [Data(), offCurve, compressed, publicBytes.dropLast(), publicBytes + Data([0]), privateBytes] {
            expectStatus(errSecParam) { try Keys.read(bytes, kSecAttrKeyTypeEC, kSecAttrKeyClassPublic) }
        }
        for bytes in [Data(), foreign, publicBytes, privateBytes.dropFirst(), Data([0x02]) + privateBytes.dropFirst()] {
            expectStatus(errSecParam) { try Keys.read(bytes, kSecAttrKeyTypeEC, kSecAttrKeyClassPrivate) }
        }
        expectStatus(errSecParam) { try Keys.read(privateBytes, "99", kSecAttrKeyClassPrivate) }
        expectStatus(errSecParam) { try Keys.read(privateBytes, kSecAttrKeyTypeEC, "3") }
        expectStatus(errSecUnimplemented) { try Keys.read(privateBytes, kSecAttrKeyTypeEC, kSecAttrKeyClassSymmetric) }
        expectStatus(errSecUnimplemented) {
            let extra: [CFString: Any] = [kSecAttrTokenID: kSecAttrTokenIDSecureEnclave]
            return try Keys.read(privateBytes, kSecAttrKeyTypeEC, kSecAttrKeyClassPrivate, extra)
        }
    }

    @Test(arguments: Keys.curves) func `case 91: every ECDSA algorithm signs and verifies`(size: Int) throws {
        let key = try Keys.curve(size)
        let publicKey = try Keys.publicKey(key)
        #expect(SecKeyAlgorithm.ecdsa.count == 23)
        for algorithm in SecKeyAlgorithm.ecdsa {
            #expect(SecKeyIsAlgorithmSupported(key, .sign, algorithm))
            #expect(SecKeyIsAlgorithmSupported(publicKey, .verify, algorithm))
            #expect(!SecKeyIsAlgorithmSupported(key, .verify, algorithm))
            #expect(!SecKeyIsAlgorithmSupported(publicKey, .sign, algorithm))
            let input = algorithm.input(blockSize: 0)
            let signature = try Keys.sign(key, algorithm, input)
            try Keys.verify(publicKey, algorithm, input, signature)
            expectStatus(errSecVerifyFailed) {
                var other = input
                other[0] ^= 1
                return try Keys.verify(publicKey, algorithm, other, signature)
            }
            expectStatus(errSecVerifyFailed) { try Keys.verify(publicKey, algorithm, input, signature.dropLast()) }
            expectStatus(errSecVerifyFailed) { try Keys.verify(publicKey, algorithm, input, Data()) }
        }
    }

    @Test(arguments: Keys.curves) func `case 92: a digest one byte too long or too short is refused`(size: Int) throws {
        let key = try Keys.curve(size)
        for algorithm in SecKeyAlgorithm.ecdsa {
            guard case .some(.some(let hash)) = algorithm.digestHash else { continue }
            for count in [0, hash.byteCount - 1, hash.byteCount + 1] {
                expectStatus(errSecParam) { try Keys.sign(key, algorithm, Data(count: count)) }
                expectStatus(errSecParam) {
                    try Keys.verify(Keys.publicKey(key), algorithm, Data(count: count), Data(count: 64))
                }
            }
        }
        for count in [1, 20, 66, 67, 200] {
            let digest = Data(repeating: 0xe1, count: count)
            let signature = try Keys.sign(key, .ecdsaSignatureDigestX962, digest)
            try Keys.verify(Keys.publicKey(key), .ecdsaSignatureDigestX962, digest, signature)
        }
        expectStatus(errSecParam) { try Keys.sign(key, .ecdsaSignatureDigestX962, Data()) }
    }

    @Test(arguments: Keys.curves) func `case 93: algorithms that mean one thing verify each other's signatures`(
        size: Int
    ) throws {
        let key = try Keys.curve(size)
        let publicKey = try Keys.publicKey(key)
        let message = Data("both names".utf8)
        for hash in HashAlgorithm.allCases {
            let digest = hash.digest(of: message)
            for encoding in ["RFC4754", "X962"] {
                let (bare, named, over) = (
                    SecKeyAlgorithm("algid:sign:ECDSA:digest-\(encoding)"),
                    SecKeyAlgorithm("algid:sign:ECDSA:digest-\(encoding):\(hash.rawValue)"),
                    SecKeyAlgorithm("algid:sign:ECDSA:message-\(encoding):\(hash.rawValue)")
                )
                let signature = try Keys.sign(key, bare, digest)
                try Keys.verify(publicKey, named, digest, signature)
                try Keys.verify(publicKey, over, message, signature)
                try Keys.verify(publicKey, bare, digest, Keys.sign(key, over, message))
            }
        }
        let raw = try Keys.sign(key, .ecdsaSignatureRFC4754, Data(repeating: 1, count: 32))
        #expect(raw.count == 2 * SecKeyGetBlockSize(key))
        try Keys.verify(publicKey, .ecdsaSignatureDigestRFC4754, Data(repeating: 1, count: 32), raw)
        expectStatus(errSecVerifyFailed) {
            try Keys.verify(publicKey, .ecdsaSignatureDigestX962, Data(repeating: 1, count: 32), raw)
        }
    }

    private struct SignatureCase: Codable {
        let curve: Int
        let hash: String
        let point: Data
        let message: Data
        let signature: Data
    }

    @Test func `Python verifies signatures of every curve and hash`() throws {
        var cases: [SignatureCase] = []
        for size in Keys.curves {
            let key = try Keys.curve(size)
            for hash in HashAlgorithm.allCases {
                let message = Data("\(size) \(hash)".utf8)
                let algorithm = SecKeyAlgorithm("algid:sign:ECDSA:message-X962:\(hash.rawValue)")
                cases.append(
                    SignatureCase(
                        curve: size, hash: hash.rawValue, point: try Keys.bytes(Keys.publicKey(key)), message: message,
                        signature: try Keys.sign(key, algorithm, message)))
            }
        }
        let script = """
            from cryptography.hazmat.primitives import hashes
            from cryptography.hazmat.primitives.asymmetric import ec
            decode = base64.b64decode
            for case in cases:
                curve = {256: ec.SECP256R1, 384: ec.SECP384R1, 521: ec.SECP521R1}[case["curve"]]()
                key = ec.EllipticCurvePublicKey.from_encoded_point(curve, decode(case["point"]))
                algorithm = ec.ECDSA(getattr(hashes, case["hash"])())
                key.verify(decode(case["signature"]), decode(case["message"]), algorithm)
            print(json.dumps(len(cases)))
            """
        #expect(try IndependentTool.python(script, cases, returning: Int.self) == 15)
    }

    @Test func `case 105: attributes of a software key`() throws {
        let key = try Keys.curve(256)
        let attributes = try #require(SecKeyCopyAttributes(key) as? [String: Any])
        #expect(attributes["bsiz"] as? Int == 256)
        #expect(attributes[kSecAttrKeySizeInBits as String] as? Int == 256)
        #expect(attributes["esiz"] as? Int == 256)
        #expect(attributes["class"] as? String == "keys")
        #expect(attributes["kcls"] as? String == "1")
        #expect(attributes["type"] as? String == "73")
        #expect(try attributes["v_Data"] as? Data == Keys.bytes(key))
        let label = try HashAlgorithm.sha1.digest(of: Keys.bytes(Keys.publicKey(key)))
        #expect(attributes["klbl"] as? Data == label)
        let publicAttributes = try #require(SecKeyCopyAttributes(Keys.publicKey(key)) as? [String: Any])
        #expect(publicAttributes["klbl"] as? Data == label)
        #expect(publicAttributes["kcls"] as? String == "0")
        #expect(Set(publicAttributes.keys) == Set(attributes.keys))
        for (name, ofPrivate, ofPublic) in [
            ("perm", true, true), ("priv", true, true), ("modi", true, true), ("sens", false, false),
            ("asen", false, false), ("extr", true, true), ("next", false, false), ("decr", true, false),
            ("sign", true, false), ("unwp", true, false), ("encr", false, true), ("vrfy", false, true),
            ("wrap", false, true), ("drve", true, false), ("snrc", false, false), ("vyrc", false, false),
        ] {
            #expect(attributes[name] as? Bool == ofPrivate, "\(name)")
            #expect(publicAttributes[name] as? Bool == ofPublic, "\(name)")
        }
    }

    @Test func `a key shows what it is and not its bytes`() throws {
        let key = try Keys.curve(256)
        #expect(key.description == "<SecKeyRef: EC private key, 256 bits>")
        var dumped = ""
        dump(key, to: &dumped)
        let secret = try Keys.bytes(key).suffix(32)
        #expect(!dumped.contains(secret.base64EncodedString()))
        #expect(!dumped.contains(secret.map(String.init).joined(separator: ", ")))
        #expect(CFGetTypeID(key) == SecKeyGetTypeID())
        #expect(try SecKeyCopyPublicKey(Keys.publicKey(key)) == Keys.publicKey(key))
    }

    @Test func `unknown algorithms and those of other keys are refused`() throws {
        let key = try Keys.curve(256)
        let unknown = SecKeyAlgorithm("algid:sign:ECDSA:message-X962:SHA3-256")
        #expect(!SecKeyIsAlgorithmSupported(key, .sign, unknown))
        for algorithm in [unknown] + SecKeyAlgorithm.rsaSignatures + SecKeyAlgorithm.ecies + SecKeyAlgorithm.ecdh {
            #expect(!SecKeyIsAlgorithmSupported(key, .sign, algorithm))
            expectStatus(errSecParam) { try Keys.sign(key, algorithm, Data(count: 32)) }
        }
        for algorithm in SecKeyAlgorithm.rsaEncryptions + SecKeyAlgorithm.ecdsa {
            expectStatus(errSecParam) { try Keys.decrypt(key, algorithm, Data(count: 256)) }
            expectStatus(errSecParam) { try Keys.encrypt(Keys.publicKey(key), algorithm, Data(count: 1)) }
        }
        expectStatus(errSecParam) { try Keys.sign(Keys.publicKey(key), .ecdsaSignatureMessageX962SHA256, Data()) }
        expectStatus(errSecParam) {
            try Keys.verify(key, .ecdsaSignatureMessageX962SHA256, Data(), Data(count: 70))
        }
    }
}
