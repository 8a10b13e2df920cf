import Foundation
import IndependentTools
import KeyAlgorithms
@testable import Security
import Testing

@Suite struct RSAKeyTests {
    static let sizes = [1024, 2048, 4096]

    @Test(arguments: [512, 1023, 1000, 1032, 8193, 8320, 1_000_000, 0, -1024])
    func `a size that is not made is refused`(size: Int) {
        expectStatus(errSecParam) { try Keys.random(kSecAttrKeyTypeRSA, size) }
    }

    @Test(arguments: sizes) func `an exported key is the same key again`(size: Int) throws {
        let key = try Keys.rsa(size)
        let publicKey = try Keys.publicKey(key)
        #expect(SecKeyGetBlockSize(key) == size / 8)
        let again = try Keys.read(Keys.bytes(key), kSecAttrKeyTypeRSA, kSecAttrKeyClassPrivate)
        let publicAgain = try Keys.read(Keys.bytes(publicKey), 42, "0")
        #expect(again == key && publicAgain == publicKey && again != publicAgain)
        #expect(try Keys.publicKey(again) == publicKey)
        let attributes = try #require(SecKeyCopyAttributes(publicKey) as? [String: Any])
        #expect(try attributes["klbl"] as? Data == HashAlgorithm.sha1.digest(of: Keys.bytes(publicKey)))
        #expect(attributes["bsiz"] as? Int == size && attributes["type"] as? String == "42")
        #expect(attributes["drve"] as? Bool == true)
    }

    @Test func `bytes that are no key are refused`() throws {
        let key = try Keys.rsa()
        let (privateBytes, publicBytes) = (try Keys.bytes(key), try Keys.bytes(Keys.publicKey(key)))
        for bytes in [Data(), publicBytes + Data([0]), publicBytes.dropLast(), privateBytes] {
            expectStatus(errSecParam) { try Keys.read(bytes, kSecAttrKeyTypeRSA, kSecAttrKeyClassPublic) }
        }
        var inconsistent = privateBytes
        inconsistent[inconsistent.count / 2] ^= 1
        for bytes in [Data(), privateBytes + Data([0]), privateBytes.dropLast(), publicBytes, inconsistent] {
            expectStatus(errSecParam) { try Keys.read(bytes, kSecAttrKeyTypeRSA, kSecAttrKeyClassPrivate) }
        }
    }

    @Test(arguments: sizes) func `every signature algorithm signs and verifies`(size: Int) throws {
        let key = try Keys.rsa(size)
        let publicKey = try Keys.publicKey(key)
        #expect(SecKeyAlgorithm.rsaSignatures.count == 22)
        for algorithm in SecKeyAlgorithm.rsaSignatures {
            let fits = size > 1024 || !(algorithm.rawValue as String).contains("PSS:SHA512")
            #expect(SecKeyIsAlgorithmSupported(key, .sign, algorithm) == fits, "\(algorithm)")
            #expect(SecKeyIsAlgorithmSupported(publicKey, .verify, algorithm) == fits)
            #expect(!SecKeyIsAlgorithmSupported(publicKey, .sign, algorithm))
            let input = algorithm.input(blockSize: size / 8)
            guard fits else {
                expectStatus(errSecParam) { try Keys.sign(key, algorithm, input) }
                continue
            }
            let signature = try Keys.sign(key, algorithm, input)
            #expect(signature.count == size / 8)
            try Keys.verify(publicKey, algorithm, input, signature)
            var (other, changed) = (input, signature)
            other[other.count - 1] ^= 1
            changed[20] ^= 1
            expectStatus(errSecVerifyFailed) { try Keys.verify(publicKey, algorithm, other, signature) }
            expectStatus(errSecVerifyFailed) { try Keys.verify(publicKey, algorithm, input, changed) }
            expectStatus(errSecVerifyFailed) { try Keys.verify(publicKey, algorithm, input, signature.dropLast()) }
        }
    }

    @Test func `inputs of a wrong length are refused`() throws {
        let key = try Keys.rsa()
        for algorithm in SecKeyAlgorithm.rsaSignatures {
            guard case .some(let hash) = algorithm.digestHash else { continue }
            let lengths = hash.map { [0, $0.byteCount - 1, $0.byteCount + 1] } ?? [0, 257]
            for length in lengths { expectStatus(errSecParam) { try Keys.sign(key, algorithm, Data(count: length)) } }
        }
        expectStatus(errSecParam) { try Keys.sign(key, .rsaSignatureRaw, Data(count: 255)) }
        expectStatus(errSecParam) { try Keys.sign(key, .rsaSignatureRaw, Data(repeating: 0xff, count: 256)) }
        expectStatus(errSecParam) { try Keys.sign(key, .rsaSignatureDigestPKCS1v15Raw, Data(count: 246)) }
        _ = try Keys.sign(key, .rsaSignatureDigestPKCS1v15Raw, Data(count: 245))
    }

    @Test(arguments: sizes) func `every encryption comes back`(size: Int) throws {
        let key = try Keys.rsa(size)
        let publicKey = try Keys.publicKey(key)
        let block = size / 8
        for algorithm in SecKeyAlgorithm.rsaEncryptions {
            guard case .rsaEncryption(let padding) = algorithm.keyAlgorithm?.kind else { continue }
            let limit: Int? =
                switch padding {
                case .none: block
                case .pkcs1v15: block - 11
                case .oaep(let hash): block - 2 * hash.byteCount - 2
                case .oaepAESGCM: nil
                }
            let fits = size > 1024 || ![.oaep(.sha512), .oaepAESGCM(.sha512)].contains(padding)
            #expect(SecKeyIsAlgorithmSupported(key, .decrypt, algorithm) == fits, "\(algorithm)")
            #expect(!SecKeyIsAlgorithmSupported(key, .encrypt, algorithm))
            guard fits else {
                expectStatus(errSecParam) { try Keys.encrypt(publicKey, algorithm, Data([1])) }
                continue
            }
            var plaintext = Data(repeating: 9, count: limit ?? 5000)
            plaintext[0] = 0
            let ciphertext = try Keys.encrypt(publicKey, algorithm, plaintext)
            #expect(ciphertext.count == (limit == nil ? block + 5000 + 16 : block))
            #expect(try Keys.decrypt(key, algorithm, ciphertext) == plaintext)
            if let limit {
                expectStatus(errSecParam) { try Keys.encrypt(publicKey, algorithm, Data(count: limit + 1)) }
            }
            expectStatus(errSecParam) { try Keys.decrypt(key, algorithm, ciphertext.dropLast()) }
            guard padding != .none else { continue }
            var changed = ciphertext
            changed[ciphertext.count - 1] ^= 1
            if padding != .pkcs1v15 { expectStatus(errSecParam) { try Keys.decrypt(key, algorithm, changed) } }
        }
    }

    private struct Case: Codable {
        let algorithm: String
        let hash: String
        let publicKey: Data
        let privateKey: Data
        let message: Data
        let bytes: Data
    }

    @Test func `Python verifies what is signed and decrypts what is encrypted`() throws {
        let key = try Keys.rsa()
        let message = Data("for others".utf8)
        var cases: [Case] = []
        for hash in HashAlgorithm.allCases {
            let salt = hash == .sha224 ? 24 : hash.byteCount
            let name = hash.rawValue
            for algorithm in [
                "algid:sign:RSA:message-PKCS1v15:\(name)", "algid:sign:RSA:message-PSS:\(name):\(name):\(salt)",
                "algid:encrypt:RSA:OAEP:\(name)", "algid:encrypt:RSA:OAEP:\(name):AESGCM",
            ] {
                let bytes =
                    try algorithm.contains("sign")
                    ? Keys.sign(key, SecKeyAlgorithm(algorithm), message)
                    : Keys.encrypt(Keys.publicKey(key), SecKeyAlgorithm(algorithm), message)
                cases.append(
                    Case(
                        algorithm: algorithm, hash: name, publicKey: try Keys.bytes(Keys.publicKey(key)),
                        privateKey: try Keys.bytes(key), message: message, bytes: bytes))
            }
        }
        let script = """
            from cryptography.hazmat.primitives import hashes, serialization
            from cryptography.hazmat.primitives.asymmetric import padding
            from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
            decode = base64.b64decode
            def check(case):
                hash, name, bytes = getattr(hashes, case["hash"])(), case["algorithm"], decode(case["bytes"])
                key = serialization.load_der_private_key(decode(case["privateKey"]), None)
                public = key.public_key()
                encoding, form = serialization.Encoding.DER, serialization.PublicFormat.PKCS1
                assert public.public_bytes(encoding, form) == decode(case["publicKey"])
                oaep = padding.OAEP(padding.MGF1(hash), hash, None)
                if "PKCS1v15" in name:
                    public.verify(bytes, decode(case["message"]), padding.PKCS1v15(), hash)
                elif "PSS" in name:
                    pss = padding.PSS(padding.MGF1(hash), hash.digest_size)
                    public.verify(bytes, decode(case["message"]), pss, hash)
                elif "AESGCM" in name:
                    cipher = Cipher(algorithms.AES(key.decrypt(bytes[:256], oaep)), modes.GCM(b"\\0" * 16, bytes[-16:]))
                    cipher = cipher.decryptor()
                    cipher.authenticate_additional_data(decode(case["publicKey"]))
                    assert cipher.update(bytes[256:-16]) + cipher.finalize() == decode(case["message"])
                else:
                    assert key.decrypt(bytes, oaep) == decode(case["message"])
            for case in cases: check(case)
            print(json.dumps(len(cases)))
            """
        #expect(try IndependentTool.python(script, cases, returning: Int.self) == 20)
    }

    @Test func `a public key of openssl is read in both forms`() throws {
        try IndependentTool.withFolder { folder in
            let file = try folder.file("key.der", Keys.bytes(Keys.rsa()))
            for form in [["-pubout"], ["-RSAPublicKey_out"]] {
                let outcome = try IndependentTool.run(
                    "openssl", ["rsa", "-inform", "DER", "-in", file.path, "-outform", "DER"] + form)
                try #require(outcome.status == 0, "\(outcome.diagnostics)")
                let key = try Keys.read(outcome.output, kSecAttrKeyTypeRSA, kSecAttrKeyClassPublic)
                #expect(try key == Keys.publicKey(Keys.rsa()))
            }
        }
    }
}
