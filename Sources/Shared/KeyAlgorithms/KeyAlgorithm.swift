/// An algorithm of Apple's `SecKey` calls, parsed from its string into a closed description.
///
/// Every public name is known (`SecKeyAlgorithm`); another string has no value. For RSA names ``supports(_:)`` is
/// always false, because it is about elliptic curves: the enclave's keys are P-256.
///
/// Two algorithms are equal when their strings are. Strings with one meaning (the deprecated
/// `algid:sign:ECDSA:RFC4754` and `algid:sign:ECDSA:digest-RFC4754`) have the same ``kind``.
public struct KeyAlgorithm: RawRepresentable, Hashable, Sendable {
    /// Apple's string, such as `algid:sign:ECDSA:message-X962:SHA256`.
    public let rawValue: String
    public let kind: Kind

    /// The operation of an algorithm, and its parameters.
    public enum Kind: Hashable, Sendable {
        /// ECDSA.
        case signature(encoding: SignatureEncoding, input: SignatureInput)
        /// ECIES over ECDH, the X9.63 KDF with `hash`, and AES-GCM. Cofactor ECDH is ordinary ECDH on the curves of NIST,
        /// whose cofactor is 1.
        case encryption(hash: HashAlgorithm, hasVariableIV: Bool, usesCofactor: Bool)
        /// ECDH; with `kdf` the X9.63 KDF over the shared secret, without it the shared secret itself.
        case keyExchange(kdf: HashAlgorithm?, usesCofactor: Bool)
        case rsaSignature(RSASignaturePadding, input: SignatureInput)
        case rsaEncryption(RSAEncryptionPadding)
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

    /// The private key's operation for this algorithm; `nil` for RSA.
    public var privateOperation: KeyOperation? {
        switch kind {
        case .signature: .sign
        case .encryption: .decrypt
        case .keyExchange: .keyExchange
        case .rsaSignature, .rsaEncryption: nil
        }
    }

    /// The public key's operation for this algorithm; `nil` for RSA and for key exchange.
    public var publicOperation: KeyOperation? {
        switch kind {
        case .signature: .verify
        case .encryption: .encrypt
        case .keyExchange, .rsaSignature, .rsaEncryption: nil
        }
    }

    /// Whether a key of an elliptic curve performs `operation` with this algorithm. Which half of the pair it takes is
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

/// The padding that an RSA signature puts around the digest.
public enum RSASignaturePadding: Hashable, Sendable {
    /// Nothing: the input is the number, as long as the modulus.
    case none
    /// PKCS #1 v1.5: with a hash the DigestInfo of the digest, without one the unchanged input.
    case pkcs1v15
    /// PSS with MGF1 of the same hash and a salt as long as the digest.
    case pss
}

/// The padding that an RSA encryption puts around the plaintext.
public enum RSAEncryptionPadding: Hashable, Sendable {
    /// Nothing: the input is the number, as long as the modulus.
    case none
    /// PKCS #1 v1.5.
    case pkcs1v15
    /// OAEP with MGF1 of the same hash and an empty label.
    case oaep(HashAlgorithm)
    /// AES-GCM under a random key that is wrapped by OAEP.
    case oaepAESGCM(HashAlgorithm)
}

/// How the two integers of a signature are written.
public enum SignatureEncoding: Hashable, Sendable, CaseIterable {
    /// DER `SEQUENCE { r INTEGER, s INTEGER }` (ANSI X9.62).
    case x962
    /// `r ‖ s`, 32 big-endian bytes each (RFC 4754).
    case rfc4754
}

/// The kind of input that a caller hands over to be signed.
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
