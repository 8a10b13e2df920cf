import Foundation
package import KeyAlgorithms

/// The attributes of objects that the token has (PKCS #11, version 3.0), by their numbers.
package enum CryptokiAttribute: UInt32, Sendable {
    case objectClass = 0x0
    case token = 0x1
    case isPrivate = 0x2
    case label = 0x3
    case value = 0x11
    case certificateType = 0x80
    case issuer = 0x81
    case serialNumber = 0x82
    case certificateCategory = 0x87
    case keyType = 0x100
    case subject = 0x101
    case id = 0x102
    case sensitive = 0x103
    case encrypt = 0x104
    case decrypt = 0x105
    case wrap = 0x106
    case unwrap = 0x107
    case sign = 0x108
    case signRecover = 0x109
    case verify = 0x10A
    case verifyRecover = 0x10B
    case derive = 0x10C
    case modulus = 0x120
    case modulusBits = 0x121
    case publicExponent = 0x122
    case extractable = 0x162
    case local = 0x163
    case neverExtractable = 0x164
    case alwaysSensitive = 0x165
    case modifiable = 0x170
    case copyable = 0x171
    case destroyable = 0x172
    case curve = 0x180
    case point = 0x181
    case alwaysAuthenticate = 0x202
    case allowedMechanisms = 0x4000_0600
}

/// CKK_…
enum CryptokiKeyType: UInt64 {
    case rsa = 0x0
    case curve = 0x3
    case edwards = 0x40
}

/// CKM_…, those that keys have.
enum MechanismType: UInt32, CaseIterable {
    case rsaPKCS = 0x1
    case rsaOAEP = 0x9
    case rsaPSS = 0xD
    case sha256RSA = 0x40
    case sha384RSA = 0x41
    case sha512RSA = 0x42
    case sha256PSS = 0x43
    case sha384PSS = 0x44
    case sha512PSS = 0x45
    case ecdsa = 0x1041
    case ecdsaSHA256 = 0x1044
    case ecdsaSHA384 = 0x1045
    case ecdsaSHA512 = 0x1046
    case ecdh = 0x1050
    case eddsa = 0x1057
}

/// How a key signs.
package enum SignatureMechanism: Hashable, Sendable {
    /// Of a digest without a hash, else of a message.
    case ecdsa(HashAlgorithm?)
    case ed25519
    /// Of a DigestInfo without a hash, else of a message.
    case pkcs1(HashAlgorithm?)
    /// A salt as long as the digest, and MGF1 of the same hash.
    case pss(HashAlgorithm, ofDigest: Bool)

    /// The hash of messages; nil where the data is signed as it is.
    package var messageHash: HashAlgorithm? {
        switch self {
        case .ecdsa(let hash), .pkcs1(let hash): hash
        case .pss(let hash, let isOfDigest): isOfDigest ? nil : hash
        case .ed25519: nil
        }
    }
}

extension WireMechanism {
    /// - Throws: ``TokenRefusal/mechanismInvalid``, ``TokenRefusal/mechanismParameterInvalid``.
    package func signature() throws(TokenRefusal) -> SignatureMechanism {
        switch MechanismType(rawValue: type) {
        case .ecdsa: return try bare(.ecdsa(nil))
        case .ecdsaSHA256: return try bare(.ecdsa(.sha256))
        case .ecdsaSHA384: return try bare(.ecdsa(.sha384))
        case .ecdsaSHA512: return try bare(.ecdsa(.sha512))
        case .eddsa: return try bare(.ed25519)
        case .rsaPKCS: return try bare(.pkcs1(nil))
        case .sha256RSA: return try bare(.pkcs1(.sha256))
        case .sha384RSA: return try bare(.pkcs1(.sha384))
        case .sha512RSA: return try bare(.pkcs1(.sha512))
        case .rsaPSS: return try pss(nil)
        case .sha256PSS: return try pss(.sha256)
        case .sha384PSS: return try pss(.sha384)
        case .sha512PSS: return try pss(.sha512)
        case .rsaOAEP, .ecdh, nil: throw .mechanismInvalid
        }
    }

    /// - Throws: as ``signature()``.
    package func decryption() throws(TokenRefusal) -> RSAEncryptionPadding {
        switch MechanismType(rawValue: type) {
        case .rsaPKCS: return try bare(.pkcs1v15)
        case .rsaOAEP:
            guard let named = NamedHash(number: hash), named.mask == mask, salt == 0 else {
                throw .mechanismParameterInvalid
            }
            return .oaep(named.hash)
        default: throw .mechanismInvalid
        }
    }

    /// Throws unless this is ECDH without a key derivation.
    package func requireAgreement() throws(TokenRefusal) {
        guard type == MechanismType.ecdh.rawValue else { throw .mechanismInvalid }
        _ = try bare(())
    }

    private func bare<Meaning>(_ meaning: Meaning) throws(TokenRefusal) -> Meaning {
        guard (hash, mask, salt) == (0, 0, 0) else { throw .mechanismParameterInvalid }
        return meaning
    }

    /// - Parameter message: the hash of messages; nil for a mechanism of digests.
    private func pss(_ message: HashAlgorithm?) throws(TokenRefusal) -> SignatureMechanism {
        guard let named = NamedHash(number: hash), named.hash != .sha1, named.mask == mask,
            Int(salt) == named.hash.byteCount, message ?? named.hash == named.hash
        else { throw .mechanismParameterInvalid }
        return .pss(named.hash, ofDigest: message == nil)
    }
}

/// A hash by its numbers in parameters.
private struct NamedHash {
    let hash: HashAlgorithm
    /// CKG_MGF1_…
    let mask: UInt32

    /// - Parameter number: CKM_….
    init?(number: UInt32) {
        switch number {
        case 0x220: (hash, mask) = (.sha1, 1)
        case 0x250: (hash, mask) = (.sha256, 2)
        case 0x260: (hash, mask) = (.sha384, 3)
        case 0x270: (hash, mask) = (.sha512, 4)
        default: return nil
        }
    }
}

/// What CKM_RSA_PKCS signs (RFC 8017, section 9.2): a digest with the name of its hash. Nothing else is signed. Bytes that the host chooses
/// freely could be a DigestInfo of an outdated hash.
enum DigestInfo {
    /// - Returns: nil for bytes that are no DigestInfo of SHA-2.
    static func read(_ bytes: Data) -> (digest: Data, hash: HashAlgorithm)? {
        for (hash, number) in [(HashAlgorithm.sha256, UInt8(1)), (.sha384, 2), (.sha512, 3)] {
            let count = UInt8(hash.byteCount)
            // SEQUENCE { SEQUENCE { id-shaN, NULL }, OCTET STRING }
            let head: [UInt8] = [
                0x30, 17 + count, 0x30, 13, 0x06, 9, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, number, 0x05, 0,
                0x04, count,
            ]
            guard bytes.count == head.count + hash.byteCount, bytes.starts(with: head) else { continue }
            return (Data(bytes.dropFirst(head.count)), hash)
        }
        return nil
    }
}
