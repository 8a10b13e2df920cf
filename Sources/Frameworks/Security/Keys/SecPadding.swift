import KeyAlgorithms

/// The padding of the older key calls (Apple's `SecPadding`). The numbers are Apple's.
public struct SecPadding: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// No padding: RSA on a number, ECDSA on a digest.
    public static let none = SecPadding([])
    /// PKCS #1 v1.5; ECDSA on a digest.
    public static let PKCS1 = SecPadding(rawValue: 1)
    /// OAEP with SHA-1.
    public static let OAEP = SecPadding(rawValue: 2)
    /// ECDSA with both numbers side by side.
    public static let sigRaw = SecPadding(rawValue: 0x4000)
    public static let PKCS1MD2 = SecPadding(rawValue: 0x8000)
    public static let PKCS1MD5 = SecPadding(rawValue: 0x8001)
    public static let PKCS1SHA1 = SecPadding(rawValue: 0x8002)
    public static let PKCS1SHA224 = SecPadding(rawValue: 0x8003)
    public static let PKCS1SHA256 = SecPadding(rawValue: 0x8004)
    public static let PKCS1SHA384 = SecPadding(rawValue: 0x8005)
    public static let PKCS1SHA512 = SecPadding(rawValue: 0x8006)
}

extension SecPadding {
    /// The hash that the padding names. MD2 and MD5 are not made here.
    private var hash: HashAlgorithm? {
        switch self {
        case .PKCS1SHA1: .sha1
        case .PKCS1SHA224: .sha224
        case .PKCS1SHA256: .sha256
        case .PKCS1SHA384: .sha384
        case .PKCS1SHA512: .sha512
        default: nil
        }
    }

    /// The algorithms that a signature with this padding over a digest of `digestByteCount` bytes may mean, best first. On a
    /// curve the length tells the hash, so that a token that knows one hash alone can be used.
    func signatureAlgorithms(for type: KeyType, digestByteCount: Int) -> [KeyAlgorithm.Kind] {
        switch (type, self, hash) {
        case (.rsa, _, let hash?): [.rsaSignature(.pkcs1v15, input: .digest(hash))]
        case (.rsa, .none, nil): [.rsaSignature(.none, input: .digest(nil))]
        case (.rsa, .PKCS1, nil): [.rsaSignature(.pkcs1v15, input: .digest(nil))]
        case (.ellipticCurve, _, let hash?): [.signature(encoding: .x962, input: .digest(hash))]
        case (.ellipticCurve, .sigRaw, nil): [.signature(encoding: .rfc4754, input: .digest(nil))]
        case (.ellipticCurve, .none, nil), (.ellipticCurve, .PKCS1, nil):
            HashAlgorithm.allCases.filter { $0.byteCount == digestByteCount }
                .map { .signature(encoding: .x962, input: .digest($0)) }
                + [.signature(encoding: .x962, input: .digest(nil))]
        default: []
        }
    }

    /// The algorithm of an encryption with this padding.
    func encryptionAlgorithm(for type: KeyType) -> KeyAlgorithm.Kind? {
        switch (type, self) {
        case (.rsa, .none): .rsaEncryption(.none)
        case (.rsa, .PKCS1): .rsaEncryption(.pkcs1v15)
        case (.rsa, .OAEP): .rsaEncryption(.oaep(.sha1))
        default: nil
        }
    }
}
