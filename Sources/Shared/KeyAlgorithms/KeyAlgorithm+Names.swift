// Apple's algorithm strings, composed from their parts as Apple composed them.

extension KeyAlgorithm {
    /// Every known algorithm, sorted by string.
    public static let all = kinds.map(KeyAlgorithm.init(rawValue:kind:)).sorted { $0.rawValue < $1.rawValue }

    static let kinds: [String: Kind] = {
        let kinds = signatureKinds + encryptionKinds + keyExchangeKinds + rsaSignatureKinds + rsaEncryptionKinds
        return Dictionary(uniqueKeysWithValues: kinds.map { (name(of: $0), $0) } + [deprecatedName])
    }()

    /// The algorithm of a kind, `nil` where Apple has no name for the combination.
    public init?(kind: Kind) {
        guard let named = Self.named[kind] else { return nil }
        self = named
    }

    /// The algorithms by kind, a kind of two names under the one that is not deprecated.
    private static let named = Dictionary(
        uniqueKeysWithValues: all.filter { $0.rawValue != deprecatedName.0 }.map { ($0.kind, $0) })

    private static var signatureKinds: [Kind] {
        let hashes = HashAlgorithm.allCases
        let inputs = [.digest(nil)] + hashes.map { SignatureInput.digest($0) } + hashes.map { .message($0) }
        return SignatureEncoding.allCases.flatMap { encoding in
            inputs.map { .signature(encoding: encoding, input: $0) }
        }
    }

    private static var encryptionKinds: [Kind] {
        [false, true].flatMap { usesCofactor in
            [false, true].flatMap { hasVariableIV in
                // The variable-IV forms came later and without SHA-1.
                HashAlgorithm.allCases.filter { !hasVariableIV || $0 != .sha1 }.map {
                    .encryption(hash: $0, hasVariableIV: hasVariableIV, usesCofactor: usesCofactor)
                }
            }
        }
    }

    private static var keyExchangeKinds: [Kind] {
        let kdfs = [nil] + HashAlgorithm.allCases.map(Optional.some)
        return [false, true].flatMap { usesCofactor in
            kdfs.map { .keyExchange(kdf: $0, usesCofactor: usesCofactor) }
        }
    }

    private static func name(of kind: Kind) -> String {
        switch kind {
        case .signature(let encoding, .message(let hash)):
            "algid:sign:ECDSA:message-\(encoding.name):\(hash.rawValue)"
        case .signature(let encoding, .digest(let hash)):
            "algid:sign:ECDSA:digest-\(encoding.name)\(hash.map { ":\($0.rawValue)" } ?? "")"
        case .encryption(let hash, let hasVariableIV, let usesCofactor):
            "algid:encrypt:ECIES:\(agreement(usesCofactor))\(kdfName(hash)):AESGCM\(hasVariableIV ? "-KDFIV" : "")"
        case .keyExchange(let kdf, let usesCofactor):
            "algid:keyexchange:\(agreement(usesCofactor))\(kdf.map(kdfName) ?? "")"
        case .rsaSignature(let padding, let input): "algid:sign:RSA:\(name(of: padding, input))"
        case .rsaEncryption(let padding): "algid:encrypt:RSA:\(name(of: padding))"
        }
    }

    private static func name(of padding: RSASignaturePadding, _ input: SignatureInput) -> String {
        let (form, hash) =
            switch input {
            case .message(let hash): ("message", Optional(hash))
            case .digest(let hash): ("digest", hash)
            }
        switch (padding, hash) {
        case (.none, _): return "raw"
        case (.pkcs1v15, nil), (.pss, nil): return "\(form)-PKCS1v15"
        case (.pkcs1v15, let hash?): return "\(form)-PKCS1v15:\(hash.rawValue)"
        case (.pss, let hash?):
            // The string of SHA-224 says 24 where the digest, and so the salt, has 28 bytes.
            let salt = hash == .sha224 ? 24 : hash.byteCount
            return "\(form)-PSS:\(hash.rawValue):\(hash.rawValue):\(salt)"
        }
    }

    private static func name(of padding: RSAEncryptionPadding) -> String {
        switch padding {
        case .none: "raw"
        case .pkcs1v15: "PKCS1"
        case .oaep(let hash): "OAEP:\(hash.rawValue)"
        case .oaepAESGCM(let hash): "OAEP:\(hash.rawValue):AESGCM"
        }
    }

    private static func kdfName(_ hash: HashAlgorithm) -> String { ":KDFX963:\(hash.rawValue)" }

    private static func agreement(_ usesCofactor: Bool) -> String { usesCofactor ? "ECDHC" : "ECDH" }

    /// `ecdsaSignatureRFC4754`: the first name of what iOS 17 calls `ecdsaSignatureDigestRFC4754`.
    private static let deprecatedName =
        ("algid:sign:ECDSA:RFC4754", Kind.signature(encoding: .rfc4754, input: .digest(nil)))

    private static var rsaSignatureKinds: [Kind] {
        let withHash = HashAlgorithm.allCases.flatMap { hash in
            [SignatureInput.digest(hash), .message(hash)].flatMap { input in
                [Kind.rsaSignature(.pkcs1v15, input: input), .rsaSignature(.pss, input: input)]
            }
        }
        return withHash + [.rsaSignature(.none, input: .digest(nil)), .rsaSignature(.pkcs1v15, input: .digest(nil))]
    }

    private static var rsaEncryptionKinds: [Kind] {
        let withHash = HashAlgorithm.allCases.flatMap { [RSAEncryptionPadding.oaep($0), .oaepAESGCM($0)] }
        return (withHash + [.none, .pkcs1v15]).map(Kind.rsaEncryption)
    }
}

extension SignatureEncoding {
    fileprivate var name: String {
        switch self {
        case .x962: "X962"
        case .rfc4754: "RFC4754"
        }
    }
}
