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
    }

    private static let ecc: [UInt8] = [0x00, 0x23]
    private static let rsa: [UInt8] = [0x00, 0x01]

    /// Everything before the key itself.
    private let head: [UInt8]

    private init(_ type: [UInt8], _ attributes: Attributes, policy: [UInt8], _ parameters: [UInt8]...) {
        let number = (0..<4).reversed().map { UInt8(truncatingIfNeeded: attributes.rawValue >> ($0 * 8)) }
        head = type + [0x00, 0x0B] + number + [0x00, UInt8(policy.count)] + policy + parameters.flatMap(\.self)
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

    /// TCG EK Credential Profile for TPM 2.0, template L-1.
    static let endorsementKey = KeyArea(
        rsa, [.bound, .adminWithPolicy, .restricted, .decrypt],
        policy: TPMPolicy.secret(of: TPMName.endorsementHierarchy).digest, Parameters.aes128CFB, Parameters.noScheme,
        Parameters.rsa2048)

    /// The key in `area`; nil when another field has a wrong value.
    func key(in area: [UInt8], _ document: AttestationDocument) throws(RightAttestationError) -> TPMPublicArea? {
        let read: TPMPublicArea
        do { read = try TPMPublicArea(area[...]) } catch { throw .structure(document, error) }
        return area.starts(with: head) ? read : nil
    }
}
