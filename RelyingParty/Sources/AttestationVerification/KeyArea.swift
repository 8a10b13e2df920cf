import RelyingParty

/// The public areas (`TPMT_PUBLIC`) that are taken: each field but the key itself has one value.
struct KeyArea {
    /// TPMA_OBJECT (TPM 2.0 Library, part 2, section 8.3).
    struct Attributes: OptionSet {
        let rawValue: UInt32

        static let fixedTPM = Attributes(rawValue: 1 << 1)
        static let fixedParent = Attributes(rawValue: 1 << 4)
        static let sensitiveDataOrigin = Attributes(rawValue: 1 << 5)
        static let userWithAuth = Attributes(rawValue: 1 << 6)
        static let adminWithPolicy = Attributes(rawValue: 1 << 7)
        static let noDA = Attributes(rawValue: 1 << 10)
        static let restricted = Attributes(rawValue: 1 << 16)
        static let decrypt = Attributes(rawValue: 1 << 17)
        static let sign = Attributes(rawValue: 1 << 18)

        /// Made in the chip, and never leaves it or its place in it.
        static let bound: Attributes = [.fixedTPM, .fixedParent, .sensitiveDataOrigin]
    }

    private enum Parameters {
        static let noCipher: [UInt8] = [0x00, 0x10]
        static let aes128CFB: [UInt8] = [0x00, 0x06, 0x00, 0x80, 0x00, 0x43]
        static let noScheme: [UInt8] = [0x00, 0x10]
        static let ecdsaSHA256: [UInt8] = [0x00, 0x18, 0x00, 0x0B]
        static let p256WithoutKDF: [UInt8] = [0x00, 0x03, 0x00, 0x10]
        static let rsa2048: [UInt8] = [0x08, 0x00, 0x00, 0x00, 0x00, 0x00]
        static let aes256CFB: [UInt8] = [0x00, 0x06, 0x01, 0x00, 0x00, 0x43]
        static let p384WithoutKDF: [UInt8] = [0x00, 0x04, 0x00, 0x10]
    }

    private static let sha256: [UInt8] = [0x00, 0x0B]
    private static let sha384: [UInt8] = [0x00, 0x0C]

    private static let ecc: [UInt8] = [0x00, 0x23]
    private static let rsa: [UInt8] = [0x00, 0x01]

    /// Everything before the key itself.
    private let head: [UInt8]

    private init(
        _ type: [UInt8], named nameAlgorithm: [UInt8] = sha256, _ attributes: Attributes, policy: [UInt8],
        _ parameters: [UInt8]...
    ) {
        let number = (0..<4).reversed().map { UInt8(truncatingIfNeeded: attributes.rawValue >> ($0 * 8)) }
        head = type + nameAlgorithm + number + [0x00, UInt8(policy.count)] + policy + parameters.flatMap(\.self)
    }

    /// A key of Ostiary. Its area holds a digest of facts in the place of a policy.
    static func right(facts: [UInt8]) -> KeyArea {
        KeyArea(
            ecc, [.bound, .userWithAuth, .noDA, .sign, .decrypt], policy: facts, Parameters.noCipher,
            Parameters.noScheme, Parameters.p256WithoutKDF)
    }

    /// A key of Ostiary that signs only by its policy.
    static func approvedRight(policy: TPMPolicy) -> KeyArea {
        KeyArea(
            ecc, [.bound, .noDA, .sign], policy: policy.digest, Parameters.noCipher, Parameters.noScheme,
            Parameters.p256WithoutKDF)
    }

    /// The key outside the chip that approves signatures.
    static let approver = KeyArea(
        ecc, [.sign], policy: [], Parameters.noCipher, Parameters.ecdsaSHA256, Parameters.p256WithoutKDF)

    /// A storage key that asks for its policy whenever a key below it is loaded.
    static func parent(policy: TPMPolicy) -> KeyArea {
        KeyArea(
            ecc, [.bound, .adminWithPolicy, .noDA, .restricted, .decrypt], policy: policy.digest, Parameters.aes128CFB,
            Parameters.noScheme, Parameters.p256WithoutKDF)
    }

    static let attestationKey = KeyArea(
        ecc, [.bound, .userWithAuth, .noDA, .restricted, .sign], policy: [], Parameters.noCipher,
        Parameters.ecdsaSHA256, Parameters.p256WithoutKDF)

    // MARK: endorsement keys (TCG EK Credential Profile for TPM 2.0, appendix B)

    /// Template L-1.
    static let rsaEndorsementKey = KeyArea(
        rsa, [.bound, .adminWithPolicy, .restricted, .decrypt], policy: useOfEndorsementHierarchy,
        Parameters.aes128CFB, Parameters.noScheme, Parameters.rsa2048)

    /// Template L-2.
    static let p256EndorsementKey = KeyArea(
        ecc, [.bound, .adminWithPolicy, .restricted, .decrypt], policy: useOfEndorsementHierarchy,
        Parameters.aes128CFB, Parameters.noScheme, Parameters.p256WithoutKDF)

    /// Template H-3.
    static let p384EndorsementKey = KeyArea(
        ecc, named: sha384, [.bound, .userWithAuth, .adminWithPolicy, .restricted, .decrypt], policy: policyB,
        Parameters.aes256CFB, Parameters.noScheme, Parameters.p384WithoutKDF)

    private static let useOfEndorsementHierarchy = TPMPolicy.secret(of: TPMName.endorsementHierarchy).digest

    /// PolicyB with SHA-384 (appendix B.6.3).
    private static let policyB: [UInt8] = [
        0xB2, 0x6E, 0x7D, 0x28, 0xD1, 0x1A, 0x50, 0xBC, 0x53, 0xD8, 0x82, 0xBC, 0xF5, 0xFD, 0x3A, 0x1A,
        0x07, 0x41, 0x48, 0xBB, 0x35, 0xD3, 0xB4, 0xE4, 0xCB, 0x1C, 0x0A, 0xD9, 0xBD, 0xE4, 0x19, 0xCA,
        0xCB, 0x47, 0xBA, 0x09, 0x69, 0x96, 0x46, 0x15, 0x0F, 0x9F, 0xC0, 0x00, 0xF3, 0xF8, 0x0E, 0x12,
    ]

    /// The key in `area`; nil when another field has a wrong value.
    func key(in area: [UInt8], _ document: AttestationDocument) throws(RightAttestationError) -> TPMPublicArea? {
        let read: TPMPublicArea
        do { read = try TPMPublicArea(area[...]) } catch { throw .structure(document, error) }
        return area.starts(with: head) ? read : nil
    }
}
