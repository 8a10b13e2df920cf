import Crypto
package import Foundation
import KeyAlgorithms
import RSAKeys

/// Makes and reads the keys that this process holds.
package enum SoftwareKeys {
    /// A fresh private key. Refused with `errSecParam`: a size that is not made here (curves of 256, 384 and 521 bits; RSA from
    /// 1024 to 8192 bits in steps of 128). RSA takes up to seconds.
    static func generate(_ type: KeyType, sizeInBits: Int) throws -> any KeyBacking {
        let refusal = StatusError.parameter("Keys of this type and size cannot be made.")
        switch (type, sizeInBits) {
        case (.ellipticCurve, P256.bitCount): return try SoftwareECPrivateKey<P256>()
        case (.ellipticCurve, P384.bitCount): return try SoftwareECPrivateKey<P384>()
        case (.ellipticCurve, P521.bitCount): return try SoftwareECPrivateKey<P521>()
        case (.ellipticCurve, _): throw refusal
        case (.rsa, _):
            guard let key = RSAKey(generating: sizeInBits) else { throw refusal }
            return SoftwareRSAKey(key)
        }
    }

    /// Reads an external representation. `errSecParam` for bytes that are no key of this type and half.
    package static func read(_ bytes: Data, _ type: KeyType, _ keyClass: KeyClass) throws(StatusError) -> any KeyBacking
    {
        let refusal = StatusError.parameter("The bytes are not a key of this type.")
        do {
            switch (type, keyClass) {
            case (.rsa, .privateKey): return try readRSA(RSAKey(privateKey: bytes), refusal)
            case (.rsa, .publicKey): return try readRSA(RSAKey(publicKey: bytes), refusal)
            case (.ellipticCurve, .publicKey): return try readPublicKey(bytes, refusal)
            case (.ellipticCurve, .privateKey): return try readPrivateKey(bytes, refusal)
            }
        } catch {
            throw refusal
        }
    }

    private static func readRSA(_ key: RSAKey?, _ refusal: StatusError) throws -> any KeyBacking {
        guard let key else { throw refusal }
        return SoftwareRSAKey(key)
    }

    /// The curve shows in the length.
    private static func readPublicKey(_ bytes: Data, _ refusal: StatusError) throws -> any KeyBacking {
        switch bytes.count {
        case P256.pointByteCount: try SoftwareECPublicKey<P256>(ECPublicKey(x963: bytes))
        case P384.pointByteCount: try SoftwareECPublicKey<P384>(ECPublicKey(x963: bytes))
        case P521.pointByteCount: try SoftwareECPublicKey<P521>(ECPublicKey(x963: bytes))
        default: throw refusal
        }
    }

    private static func readPrivateKey(_ bytes: Data, _ refusal: StatusError) throws -> any KeyBacking {
        // Said here, not left to the library, which may come to read the compressed form.
        guard bytes.first == 0x04 else { throw refusal }
        return switch bytes.count {
        case P256.pointByteCount + P256.fieldByteCount: try SoftwareECPrivateKey<P256>(x963: bytes)
        case P384.pointByteCount + P384.fieldByteCount: try SoftwareECPrivateKey<P384>(x963: bytes)
        case P521.pointByteCount + P521.fieldByteCount: try SoftwareECPrivateKey<P521>(x963: bytes)
        default: throw refusal
        }
    }
}
