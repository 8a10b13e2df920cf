import Foundation
import IndependentTools
import KeyAlgorithms
@testable import Security
import Testing

@Suite struct ECIESTests {
    static let plaintext = Data("KNOWN PLAINTEXT\0".utf8)

    @Test(arguments: Keys.curves) func `case 95: the private half decrypts and the public half encrypts`(size: Int)
        throws
    {
        let key = try Keys.curve(size)
        let publicKey = try Keys.publicKey(key)
        #expect(SecKeyAlgorithm.ecies.count == 18)
        for algorithm in SecKeyAlgorithm.ecies {
            #expect(SecKeyIsAlgorithmSupported(key, .decrypt, algorithm))
            #expect(!SecKeyIsAlgorithmSupported(key, .encrypt, algorithm))
            #expect(SecKeyIsAlgorithmSupported(publicKey, .encrypt, algorithm))
            #expect(!SecKeyIsAlgorithmSupported(publicKey, .decrypt, algorithm))
            for plaintext in [Self.plaintext, Data()] {
                let ciphertext = try Keys.encrypt(publicKey, algorithm, plaintext)
                #expect(ciphertext.count == plaintext.count + 2 * SecKeyGetBlockSize(key) + 1 + 16)
                #expect(try Keys.decrypt(key, algorithm, ciphertext) == plaintext)
            }
        }
        let large = Data(repeating: 7, count: 3 << 20)
        let algorithm = SecKeyAlgorithm.eciesEncryptionStandardX963SHA256AESGCM
        #expect(try Keys.decrypt(key, algorithm, Keys.encrypt(publicKey, algorithm, large)) == large)
    }

    @Test(arguments: Keys.curves) func `cases 96 and 97: a changed or cut ciphertext is refused`(size: Int) throws {
        let key = try Keys.curve(size)
        for algorithm in SecKeyAlgorithm.ecies {
            let ciphertext = try Keys.encrypt(Keys.publicKey(key), algorithm, Self.plaintext)
            let count = ciphertext.count
            for index in [0, 1, count - 20, count - 1] {
                var changed = ciphertext
                changed[index] ^= 1
                expectStatus(errSecParam) { try Keys.decrypt(key, algorithm, changed) }
            }
            for length in [0, 1, count - 33, count - 16, count - 1] {
                expectStatus(errSecParam) { try Keys.decrypt(key, algorithm, ciphertext.prefix(length)) }
            }
        }
    }

    @Test func `ciphertexts of another key, hash or form are refused`() throws {
        let (key, other) = (try Keys.curve(256), try Keys.curve(256))
        let publicKey = try Keys.publicKey(key)
        let ciphertext = try Keys.encrypt(publicKey, .eciesEncryptionStandardX963SHA256AESGCM, Self.plaintext)
        expectStatus(errSecParam) { try Keys.decrypt(other, .eciesEncryptionStandardX963SHA256AESGCM, ciphertext) }
        expectStatus(errSecParam) { try Keys.decrypt(key, .eciesEncryptionStandardX963SHA512AESGCM, ciphertext) }
        expectStatus(errSecParam) {
            try Keys.decrypt(key, .eciesEncryptionStandardVariableIVX963SHA256AESGCM, ciphertext)
        }
        #expect(try Keys.decrypt(key, .eciesEncryptionCofactorX963SHA256AESGCM, ciphertext) == Self.plaintext)
    }

    /// The P-256 ciphertexts of Apple's regression test si-44-seckey-ies, and two of our own of the variable-IV form,
    /// made with an independent implementation.
    static let vectors: [(algorithm: SecKeyAlgorithm, key: String, ciphertext: String)] = [
        (
            .eciesEncryptionCofactorX963SHA1AESGCM,
            "BOAqiwAFzjxO7xaYE/6+ywCRap/xxiBCxuUj4A0kzSQtu+0BJ0R71djlM+wtYPwff3+g7e52a8cQSioBciTrMjWCTZuTbhHqsMOdqsmKN/pL"
                + "EwK9uI3FA6grFbSODA1u0g==",
            "BIqvCZdbwbSmS4+hB8vbDdIDJxaUGBmcaOPoRpaTY8MWofTlcqc/OGB0AjbuzpJ7cqODphJ+B6LlsrK0SPogUyj7zT01PA9gwWau/BXb8/1J"
                + "Qa7zTeIJ1vsF7gSrTcMWxA=="
        ),
        (
            .eciesEncryptionCofactorX963SHA256AESGCM, sha256Key,
            "BE7IWFWccaIl7n7Kffg5Q+vkJMJFVsHP8C5C/APzW6gjUQynJGRoG4Vw4UEsFTi/yfUQYTSV7Vv18CXE/3IecGAILuLpcDaSxSwzFqrwmqCc"
                + "SqSRbYSat+8HuaKq19Cq4A=="
        ),
        (
            .eciesEncryptionCofactorX963SHA384AESGCM,
            "BE73i2R6RS7M83M2JGD+JKCR1Z8AST87PFRNLLIfIXoKhH6BFsVgUmuOhz+o450teB4rig57yn9nzDkBRTTn+QAp3g6zGzIE1CBuxSSWVcJN"
                + "iUD8APCb6kJj7Y/95ekTHg==",
            "BKl/2vl0v3BqnLYTMvjszf2hB48GwIrSqqBQU01p/RsAPk3zPb1QG1nq0/bL5mFyIbsQUq8jhAvx8YbXDG47e6qv44Q2nalZqvry55daTUyV"
                + "vrHvZ+xM6qceFzLFUHYGLw=="
        ),
        (
            .eciesEncryptionCofactorX963SHA512AESGCM,
            "BMnc5IlDIZJKns6G8ALvQqnaprPuhMkNy04G7rZmOD5w7O2OlViw+aDZr667+xIoQ/zqpMBLIA8ujun6mMQdgx2Wvtj3LPhvfbnHQnuTM60R"
                + "DfA2BQ+Xj4WCQ4KzcaUElw==",
            "BP997mVpTGiPFJp+2CKm2cWgAg/bUToX9UcJlGuasGxFdDqb6a3WZ0HYyujiwxihdSUOEcAdExU3RJdWTfFHDeXDAB7Qdf4WdjiWfyPO29kS"
                + "WAWbJnHaC9JKC4UdTjTPBA=="
        ),
        (
            .eciesEncryptionStandardVariableIVX963SHA256AESGCM, sha256Key,
            "BHzyexiNA09+ilI4AwS1GsPAiWnid/IbNaYLSPxHZpl4B3dVENuO0EApPZrGn3Qw27p9reY86YIpngS3nSJ4c9FpdsEUMVU7czZvcEc260Z2"
                + "atefVa1P08eQ/jHgVPHLzw=="
        ),
        (
            .eciesEncryptionStandardVariableIVX963SHA384AESGCM, sha256Key,
            "BHzyexiNA09+ilI4AwS1GsPAiWnid/IbNaYLSPxHZpl4B3dVENuO0EApPZrGn3Qw27p9reY86YIpngS3nSJ4c9FqW4W7EL4Nyu0nZoFLpaVJ"
                + "TQhaOmZzA4I0hzEmoknjYQ=="
        ),
    ]

    private static let sha256Key =
        "BINzTFiGIp6G4fpmFCP/KHot+ek+PUYvYp69iT8lHdJNwRbJir1Zr4i73A0vdKoKMn3jdp/8oQ5WnSE+PsFruYahsHI2tFyhPjGYEhUmFrwa"
        + "A/2WQynh77dAqSiKhg0l3w=="

    @Test(arguments: vectors) func `case 98: known ciphertexts are decrypted`(
        algorithm: SecKeyAlgorithm, key: String, ciphertext: String
    ) throws {
        let key = try Keys.read(
            try #require(Data(base64Encoded: key)), kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeyClassPrivate)
        #expect(try Keys.decrypt(key, algorithm, #require(Data(base64Encoded: ciphertext))) == Self.plaintext)
    }
}

extension ECIESTests {
    private struct Case: Codable {
        let curve: Int
        let algorithm: String
        let privateKey: Data
        let ciphertext: Data
    }

    @Test func `Python decrypts what is encrypted on every curve`() throws {
        let cases = try Keys.curves.flatMap { size in
            let key = try Keys.curve(size)
            return try SecKeyAlgorithm.ecies.map { algorithm in
                Case(
                    curve: size, algorithm: algorithm.rawValue as String, privateKey: try Keys.bytes(key),
                    ciphertext: try Keys.encrypt(Keys.publicKey(key), algorithm, Self.plaintext))
            }
        }
        let script = """
            from cryptography.hazmat.primitives import hashes
            from cryptography.hazmat.primitives.asymmetric import ec
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
            from cryptography.hazmat.primitives.kdf.x963kdf import X963KDF
            curves = {256: ec.SECP256R1, 384: ec.SECP384R1, 521: ec.SECP521R1}
            def decrypt(case):
                curve, field = curves[case["curve"]](), (case["curve"] + 7) // 8
                scalar = int.from_bytes(base64.b64decode(case["privateKey"])[-field:], "big")
                sent = base64.b64decode(case["ciphertext"])
                point, sealed = sent[:2 * field + 1], sent[2 * field + 1:]
                peer = ec.EllipticCurvePublicKey.from_encoded_point(curve, point)
                secret = ec.derive_private_key(scalar, curve).exchange(ec.ECDH(), peer)
                key_size = 16 if case["curve"] <= 256 else 32
                has_iv = case["algorithm"].endswith("KDFIV")
                hash = getattr(hashes, case["algorithm"].split(":")[5])()
                material = X963KDF(hash, key_size + (16 if has_iv else 0), point).derive(secret)
                iv = material[key_size:] if has_iv else bytes(16)
                return base64.b64encode(AESGCM(material[:key_size]).decrypt(iv, sealed, None)).decode()
            print(json.dumps([decrypt(case) for case in cases]))
            """
        let decrypted = try IndependentTool.python(script, cases, returning: [Data].self)
        #expect(decrypted == Array(repeating: Self.plaintext, count: 54))
    }
}

@Suite struct KeyExchangeTests {
    @Test(arguments: Keys.curves) func `both sides get one result from every algorithm`(size: Int) throws {
        let (mine, theirs) = (try Keys.curve(size), try Keys.curve(size))
        #expect(SecKeyAlgorithm.ecdh.count == 12)
        for algorithm in SecKeyAlgorithm.ecdh {
            #expect(SecKeyIsAlgorithmSupported(mine, .keyExchange, algorithm))
            #expect(try !SecKeyIsAlgorithmSupported(Keys.publicKey(mine), .keyExchange, algorithm))
            let parameters: [CFString: Any] = [
                SecKeyKeyExchangeParameter.requestedSize.rawValue: 40,
                SecKeyKeyExchangeParameter.sharedInfo.rawValue: Data("info".utf8),
            ]
            let first = try Keys.exchange(mine, algorithm, Keys.publicKey(theirs), parameters as CFDictionary)
            let second = try Keys.exchange(theirs, algorithm, Keys.publicKey(mine), parameters as CFDictionary)
            #expect(first == second)
            let isRaw = [.ecdhKeyExchangeStandard, .ecdhKeyExchangeCofactor].contains(algorithm)
            #expect(first.count == (isRaw ? (size + 7) / 8 : 40))
        }
    }

    @Test func `parameters may be typed keys`() throws {
        let (mine, theirs) = (try Keys.curve(256), try Keys.publicKey(Keys.curve(256)))
        let typed: [SecKeyKeyExchangeParameter: Any] = [.requestedSize: 16]
        let algorithm = SecKeyAlgorithm.ecdhKeyExchangeStandardX963SHA256
        let named = try Keys.exchange(mine, algorithm, theirs, ["requestedSize": 16] as CFDictionary)
        #expect(try Keys.exchange(mine, algorithm, theirs, typed as CFDictionary) == named)
    }

    @Test func `missing and malformed parameters are refused`() throws {
        let (mine, theirs) = (try Keys.curve(256), try Keys.publicKey(Keys.curve(256)))
        let refused: [[String: Any]] = [
            [:], ["requestedSize": "16"], ["requestedSize": 0], ["requestedSize": -1], ["requestedSize": 1 << 40],
            ["requestedSize": 16, "sharedInfo": "text"],
        ]
        for parameters in refused {
            expectStatus(errSecParam, "\(parameters)") {
                try Keys.exchange(mine, .ecdhKeyExchangeStandardX963SHA256, theirs, parameters as CFDictionary)
            }
        }
        #expect(
            try Keys.exchange(mine, .ecdhKeyExchangeStandard, theirs, ["requestedSize": "16"] as CFDictionary).count
                == 32)
    }

    @Test func `a peer of another curve or kind is refused`() throws {
        let mine = try Keys.curve(256)
        for peer in [try Keys.curve(384), try Keys.curve(521), try Keys.rsa()] {
            expectStatus(errSecParam) {
                try Keys.exchange(mine, .ecdhKeyExchangeStandard, Keys.publicKey(peer))
            }
        }
        expectStatus(errSecParam) {
            try Keys.exchange(Keys.publicKey(mine), .ecdhKeyExchangeStandard, Keys.publicKey(mine))
        }
    }
}
