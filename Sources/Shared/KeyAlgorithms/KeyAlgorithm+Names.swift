// Apple's algorithm strings, composed from their parts as Apple composed them.

extension KeyAlgorithm {
    /// Every known algorithm, sorted by string.
    public static let all = kinds.map(KeyAlgorithm.init(rawValue:kind:)).sorted { $0.rawValue < $1.rawValue }

    static let kinds: [String: Kind] = {
        let named = ellipticCurveKinds.map { (name(of: $0)!, $0) }
        let kinds = named + [deprecatedName] + rsaSignatureNames.map { ($0, .rsaSignature) }
            + rsaEncryptionNames.map { ($0, .rsaEncryption) }
        return Dictionary(uniqueKeysWithValues: kinds)
    }()

    /// The algorithm of a kind, `nil` where Apple has no name for the combination.
    init?(kind: Kind) {
        guard let name = Self.name(of: kind) else { return nil }
        self.init(rawValue: name)
    }

    private static let ellipticCurveKinds: [Kind] = signatureKinds + encryptionKinds + keyExchangeKinds

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

    private static func name(of kind: Kind) -> String? {
        switch kind {
        case .signature(let encoding, .message(let hash)):
            "algid:sign:ECDSA:message-\(encoding.name):\(hash.rawValue)"
        case .signature(let encoding, .digest(let hash)):
            "algid:sign:ECDSA:digest-\(encoding.name)\(hash.map { ":\($0.rawValue)" } ?? "")"
        case .encryption(let hash, let hasVariableIV, let usesCofactor):
            "algid:encrypt:ECIES:\(agreement(usesCofactor))\(kdfName(hash)):AESGCM\(hasVariableIV ? "-KDFIV" : "")"
        case .keyExchange(let kdf, let usesCofactor):
            "algid:keyexchange:\(agreement(usesCofactor))\(kdf.map(kdfName) ?? "")"
        case .rsaSignature, .rsaEncryption:
            nil  // Not one algorithm each.
        }
    }

    private static func kdfName(_ hash: HashAlgorithm) -> String { ":KDFX963:\(hash.rawValue)" }

    private static func agreement(_ usesCofactor: Bool) -> String { usesCofactor ? "ECDHC" : "ECDH" }

    /// `ecdsaSignatureRFC4754`: the first name of what iOS 17 calls `ecdsaSignatureDigestRFC4754`.
    private static let deprecatedName =
        ("algid:sign:ECDSA:RFC4754", Kind.signature(encoding: .rfc4754, input: .digest(nil)))

    private static var rsaSignatureNames: [String] {
        ["raw", "digest-PKCS1v15"].map { "algid:sign:RSA:\($0)" }
            + ["digest", "message"].flatMap { input in
                HashAlgorithm.allCases.flatMap { hash in
                    let name = hash.rawValue
                    // The string of SHA-224 says 24 where the digest, and so the salt, has 28 bytes.
                    let salt = hash == .sha224 ? 24 : hash.byteCount
                    return [
                        "algid:sign:RSA:\(input)-PKCS1v15:\(name)",
                        "algid:sign:RSA:\(input)-PSS:\(name):\(name):\(salt)",
                    ]
                }
            }
    }

    private static var rsaEncryptionNames: [String] {
        ["raw", "PKCS1"].map { "algid:encrypt:RSA:\($0)" }
            + HashAlgorithm.allCases.flatMap { hash in
                ["", ":AESGCM"].map { "algid:encrypt:RSA:OAEP:\(hash.rawValue)\($0)" }
            }
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
