/// An algorithm of Apple's `SecKey` calls, parsed from its string into a closed description.
///
/// Every public name is known (`SecKeyAlgorithm`); a string that is none of them has no value. RSA names are known, so that
/// they can be refused by name, and ``supports(_:)`` nothing: all keys here are P-256.
///
/// Two algorithms are equal when their strings are. Strings with one meaning (the deprecated
/// `algid:sign:ECDSA:RFC4754` and `algid:sign:ECDSA:digest-RFC4754`) have the same ``kind``.
public struct KeyAlgorithm: RawRepresentable, Hashable, Sendable {
    /// Apple's string, such as `algid:sign:ECDSA:message-X962:SHA256`.
    public let rawValue: String
    public let kind: Kind

    /// What an algorithm does, and how.
    public enum Kind: Hashable, Sendable {
        /// ECDSA.
        case signature(encoding: SignatureEncoding, input: SignatureInput)
        /// ECIES over ECDH, the X9.63 KDF with `hash`, and AES-GCM. Cofactor ECDH is ordinary ECDH on P-256, whose cofactor
        /// is 1.
        case encryption(hash: HashAlgorithm, hasVariableIV: Bool, usesCofactor: Bool)
        /// ECDH; with `kdf` the X9.63 KDF over the shared secret, without it the shared secret itself.
        case keyExchange(kdf: HashAlgorithm?, usesCofactor: Bool)
        case rsaSignature
        case rsaEncryption
    }

    /// The algorithm with this string, `nil` if Apple has none.
    public init?(rawValue: String) {
        guard let kind = Self.kinds[rawValue] else { return nil }
        self.init(rawValue: rawValue, kind: kind)
    }

    init(rawValue: String, kind: Kind) {
        self.rawValue = rawValue
        self.kind = kind
    }

    /// What a private key does for this algorithm; `nil` for RSA.
    public var privateOperation: KeyOperation? {
        switch kind {
        case .signature: .sign
        case .encryption: .decrypt
        case .keyExchange: .keyExchange
        case .rsaSignature, .rsaEncryption: nil
        }
    }

    /// What a public key does for this algorithm; `nil` for RSA and for key exchange.
    public var publicOperation: KeyOperation? {
        switch kind {
        case .signature: .verify
        case .encryption: .encrypt
        case .keyExchange, .rsaSignature, .rsaEncryption: nil
        }
    }

    /// Whether a P-256 key performs `operation` with this algorithm. Which half of the pair it takes is
    /// ``KeyOperation/usesPrivateKey``.
    public func supports(_ operation: KeyOperation) -> Bool {
        operation == privateOperation || operation == publicOperation
    }

    /// The algorithm over the digest of the message, so that only a digest travels to the key. An algorithm that takes a
    /// digest already is its own; `nil` for everything that is not ECDSA.
    public var digestForm: KeyAlgorithm? {
        guard case .signature(let encoding, let input) = kind else { return nil }
        guard case .message(let hash) = input else { return self }
        return KeyAlgorithm(kind: .signature(encoding: encoding, input: .digest(hash)))
    }
}

/// How the two integers of a signature are written.
public enum SignatureEncoding: Hashable, Sendable, CaseIterable {
    /// DER `SEQUENCE { r INTEGER, s INTEGER }` (ANSI X9.62).
    case x962
    /// `r ‖ s`, 32 big-endian bytes each (RFC 4754).
    case rfc4754
}

/// What a caller hands over to be signed.
public enum SignatureInput: Hashable, Sendable {
    /// A message of any length, which is hashed first.
    case message(HashAlgorithm)
    /// A digest: exactly as long as this hash's, or without a hash of any length.
    case digest(HashAlgorithm?)
}

/// The operations of `SecKeyOperationType`.
public enum KeyOperation: Hashable, Sendable, CaseIterable {
    case sign, verify, encrypt, decrypt, keyExchange

    /// Whether it takes the private half; the others take the public half and ask nobody.
    public var usesPrivateKey: Bool {
        switch self {
        case .sign, .decrypt, .keyExchange: true
        case .verify, .encrypt: false
        }
    }
}
