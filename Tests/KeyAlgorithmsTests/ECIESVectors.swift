import Crypto
import Foundation

/// A ciphertext whose plaintext is known.
struct ECIESVector: Sendable {
    let algorithm: String
    let privateKey: String
    let ciphertext: String

    /// `KNOWN PLAINTEXT` and a zero byte.
    static let plaintext = Data("KNOWN PLAINTEXT\0".utf8)

    /// The recipient, out of `04 ‖ X ‖ Y ‖ K`.
    var key: P256.KeyAgreement.PrivateKey {
        get throws { try P256.KeyAgreement.PrivateKey(x963Representation: Data(base64Encoded: privateKey)!) }
    }

    var bytes: Data { Data(base64Encoded: ciphertext)! }
}

extension ECIESVector {
    /// Apple's: the P-256 known ciphertexts of the Security regression test si-44-seckey-ies.
    static let published = [
        ECIESVector(
            algorithm: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA1:AESGCM",
            privateKey: "BOAqiwAFzjxO7xaYE/6+ywCRap/xxiBCxuUj4A0kzSQtu+0BJ0R71djlM+wtYPwff3+g7e52a8cQ"
                + "SioBciTrMjWCTZuTbhHqsMOdqsmKN/pLEwK9uI3FA6grFbSODA1u0g==",
            ciphertext: "BIqvCZdbwbSmS4+hB8vbDdIDJxaUGBmcaOPoRpaTY8MWofTlcqc/OGB0AjbuzpJ7cqODphJ+B6Ll"
                + "srK0SPogUyj7zT01PA9gwWau/BXb8/1JQa7zTeIJ1vsF7gSrTcMWxA=="),
        ECIESVector(
            algorithm: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA256:AESGCM",
            privateKey: "BINzTFiGIp6G4fpmFCP/KHot+ek+PUYvYp69iT8lHdJNwRbJir1Zr4i73A0vdKoKMn3jdp/8oQ5W"
                + "nSE+PsFruYahsHI2tFyhPjGYEhUmFrwaA/2WQynh77dAqSiKhg0l3w==",
            ciphertext: "BE7IWFWccaIl7n7Kffg5Q+vkJMJFVsHP8C5C/APzW6gjUQynJGRoG4Vw4UEsFTi/yfUQYTSV7Vv1"
                + "8CXE/3IecGAILuLpcDaSxSwzFqrwmqCcSqSRbYSat+8HuaKq19Cq4A=="),
        ECIESVector(
            algorithm: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA384:AESGCM",
            privateKey: "BE73i2R6RS7M83M2JGD+JKCR1Z8AST87PFRNLLIfIXoKhH6BFsVgUmuOhz+o450teB4rig57yn9n"
                + "zDkBRTTn+QAp3g6zGzIE1CBuxSSWVcJNiUD8APCb6kJj7Y/95ekTHg==",
            ciphertext: "BKl/2vl0v3BqnLYTMvjszf2hB48GwIrSqqBQU01p/RsAPk3zPb1QG1nq0/bL5mFyIbsQUq8jhAvx"
                + "8YbXDG47e6qv44Q2nalZqvry55daTUyVvrHvZ+xM6qceFzLFUHYGLw=="),
        ECIESVector(
            algorithm: "algid:encrypt:ECIES:ECDHC:KDFX963:SHA512:AESGCM",
            privateKey: "BMnc5IlDIZJKns6G8ALvQqnaprPuhMkNy04G7rZmOD5w7O2OlViw+aDZr667+xIoQ/zqpMBLIA8u"
                + "jun6mMQdgx2Wvtj3LPhvfbnHQnuTM60RDfA2BQ+Xj4WCQ4KzcaUElw==",
            ciphertext: "BP997mVpTGiPFJp+2CKm2cWgAg/bUToX9UcJlGuasGxFdDqb6a3WZ0HYyujiwxihdSUOEcAdExU3"
                + "RJdWTfFHDeXDAB7Qdf4WdjiWfyPO29kSWAWbJnHaC9JKC4UdTjTPBA=="),
    ]

    /// Our own: Apple publishes none of the variable-IV form. Recipient is the SHA-256 key above, the ephemeral scalar
    /// is 2; made with an independent implementation (Python `cryptography`).
    static let variableIV = [
        ECIESVector(
            algorithm: "algid:encrypt:ECIES:ECDH:KDFX963:SHA256:AESGCM-KDFIV",
            privateKey: published[1].privateKey,
            ciphertext: "BHzyexiNA09+ilI4AwS1GsPAiWnid/IbNaYLSPxHZpl4B3dVENuO0EApPZrGn3Qw27p9reY86YIp"
                + "ngS3nSJ4c9FpdsEUMVU7czZvcEc260Z2atefVa1P08eQ/jHgVPHLzw=="),
        ECIESVector(
            algorithm: "algid:encrypt:ECIES:ECDH:KDFX963:SHA384:AESGCM-KDFIV",
            privateKey: published[1].privateKey,
            ciphertext: "BHzyexiNA09+ilI4AwS1GsPAiWnid/IbNaYLSPxHZpl4B3dVENuO0EApPZrGn3Qw27p9reY86YIp"
                + "ngS3nSJ4c9FqW4W7EL4Nyu0nZoFLpaVJTQhaOmZzA4I0hzEmoknjYQ=="),
    ]

    /// The raw shared secret of the variable-IV vectors.
    static let variableIVSharedSecret =
        "bb1083330a88524827713d50291436a7d682e51fa7b148c9d55187f40f46f601"

    static let all = published + variableIV
}
