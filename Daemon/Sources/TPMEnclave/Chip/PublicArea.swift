import CTSS2
import Crypto
import Enclave
import Foundation

/// The public areas that this enclave makes and accepts (TPM 2.0 part 2, "TPM2B_PUBLIC").
enum PublicArea {
    /// P-256 for ECDSA and ECDH. Made in the chip, never leaves it, and its authorization value cannot be guessed, so
    /// wrong ones do not count towards the chip's lockout.
    static func key(policy: Data) -> TPM2B_PUBLIC {
        var area = TPM2B_PUBLIC()
        area.publicArea.type = TPM2_ALG_ECC
        area.publicArea.nameAlg = TPM2_ALG_SHA256
        area.publicArea.objectAttributes =
            TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_SENSITIVEDATAORIGIN | TPMA_OBJECT_USERWITHAUTH
            | TPMA_OBJECT_NODA | TPMA_OBJECT_SIGN_ENCRYPT | TPMA_OBJECT_DECRYPT
        area.publicArea.authPolicy.set(policy)
        area.publicArea.parameters.eccDetail.symmetric.algorithm = TPM2_ALG_NULL
        area.publicArea.parameters.eccDetail.scheme.scheme = TPM2_ALG_NULL
        area.publicArea.parameters.eccDetail.curveID = TPM2_ECC_NIST_P256
        area.publicArea.parameters.eccDetail.kdf.scheme = TPM2_ALG_NULL
        return area
    }

    /// A P-256 key that signs only by its policy; nothing else is done with it. Its authorization value lets the chip attest it.
    static func approvedKey(policy: Data) -> TPM2B_PUBLIC {
        var area = key(policy: policy)
        area.publicArea.objectAttributes &= ~(TPMA_OBJECT_USERWITHAUTH | TPMA_OBJECT_DECRYPT)
        return area
    }

    /// The public half of a key outside the chip, which signs approvals.
    ///
    /// - Parameter point: `04 || X || Y`.
    static func approver(_ point: Data) -> TPM2B_PUBLIC {
        var area = key(policy: Data())
        area.publicArea.objectAttributes = TPMA_OBJECT_SIGN_ENCRYPT
        area.publicArea.parameters.eccDetail.scheme.scheme = TPM2_ALG_ECDSA
        area.publicArea.parameters.eccDetail.scheme.details.ecdsa.hashAlg = TPM2_ALG_SHA256
        area.publicArea.unique.ecc.x.set(Data(point.dropFirst().prefix(32)))
        area.publicArea.unique.ecc.y.set(Data(point.suffix(32)))
        return area
    }

    /// A sealed secret.
    static func secret(policy: Data) -> TPM2B_PUBLIC {
        var area = TPM2B_PUBLIC()
        area.publicArea.type = TPM2_ALG_KEYEDHASH
        area.publicArea.nameAlg = TPM2_ALG_SHA256
        area.publicArea.objectAttributes =
            TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_USERWITHAUTH | TPMA_OBJECT_NODA
        area.publicArea.authPolicy.set(policy)
        area.publicArea.parameters.keyedHashDetail.scheme.scheme = TPM2_ALG_NULL
        return area
    }

    /// The secret that a passcode opens. Its authorization value is empty and of no use: only the policy opens the secret.
    static func passcodeSecret(of index: PasscodeIndex) -> TPM2B_PUBLIC {
        var area = secret(policy: index.policy.digest)
        area.publicArea.objectAttributes =
            TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_ADMINWITHPOLICY | TPMA_OBJECT_NODA
        return area
    }

    /// The parent of keys that require a passcode: a storage key that asks for it when a key is loaded.
    static func parent(of index: PasscodeIndex) -> TPM2B_PUBLIC {
        var area = storageKey(coordinateByteCount: 0)
        area.publicArea.objectAttributes =
            storageKeyAttributes & ~TPMA_OBJECT_USERWITHAUTH | TPMA_OBJECT_ADMINWITHPOLICY | TPMA_OBJECT_NODA
        area.publicArea.authPolicy.set(Policy.any(of: index.parentPolicies).digest)
        return area
    }

    /// The TCG's template of the ECC storage key (TCG TPM v2.0 Provisioning Guidance, section 7.5.1).
    ///
    /// - Parameter coordinateByteCount: programs differ in the unique field: none, or zeros as long as a coordinate.
    static func storageKey(coordinateByteCount: UInt16) -> TPM2B_PUBLIC {
        var area = TPM2B_PUBLIC()
        area.publicArea.type = TPM2_ALG_ECC
        area.publicArea.nameAlg = TPM2_ALG_SHA256
        area.publicArea.objectAttributes = storageKeyAttributes | TPMA_OBJECT_NODA
        area.publicArea.parameters.eccDetail.symmetric.algorithm = TPM2_ALG_AES
        area.publicArea.parameters.eccDetail.symmetric.keyBits.aes = 128
        area.publicArea.parameters.eccDetail.symmetric.mode.aes = TPM2_ALG_CFB
        area.publicArea.parameters.eccDetail.scheme.scheme = TPM2_ALG_NULL
        area.publicArea.parameters.eccDetail.curveID = TPM2_ECC_NIST_P256
        area.publicArea.parameters.eccDetail.kdf.scheme = TPM2_ALG_NULL
        area.publicArea.unique.ecc.x.size = coordinateByteCount
        area.publicArea.unique.ecc.y.size = coordinateByteCount
        return area
    }

    /// A key that signs only the chip's own statements.
    static var attestationKey: TPM2B_PUBLIC {
        var area = key(policy: Data())
        area.publicArea.objectAttributes =
            TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_SENSITIVEDATAORIGIN | TPMA_OBJECT_USERWITHAUTH
            | TPMA_OBJECT_NODA | TPMA_OBJECT_RESTRICTED | TPMA_OBJECT_SIGN_ENCRYPT
        area.publicArea.parameters.eccDetail.scheme.scheme = TPM2_ALG_ECDSA
        area.publicArea.parameters.eccDetail.scheme.details.ecdsa.hashAlg = TPM2_ALG_SHA256
        return area
    }

    static let storageKeyAttributes =
        TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_SENSITIVEDATAORIGIN | TPMA_OBJECT_USERWITHAUTH
        | TPMA_OBJECT_RESTRICTED | TPMA_OBJECT_DECRYPT

    /// Whether a persistent key of the machine can be the parent of our objects. Without the attribute noDA a key may have an
    /// authorization value that we do not know, and our commands would count towards the chip's lockout.
    static func isStorageKey(_ area: TPM2B_PUBLIC) -> Bool {
        let needed = storageKeyAttributes | TPMA_OBJECT_NODA
        return [TPM2_ALG_ECC, TPM2_ALG_RSA].contains(area.publicArea.type) && area.publicArea.nameAlg == TPM2_ALG_SHA256
            && area.publicArea.objectAttributes & needed == needed
            && area.publicArea.objectAttributes & TPMA_OBJECT_SIGN_ENCRYPT == 0
    }

    // MARK: bytes

    /// The bytes on the wire, with their size in front.
    static func bytes(_ area: TPM2B_PUBLIC) -> Data? {
        withUnsafePointer(to: area) { area in
            marshalled(atMost: MemoryLayout<TPM2B_PUBLIC>.size) {
                Tss2_MU_TPM2B_PUBLIC_Marshal(area, $0, $1, $2)
            }
        }
    }

    /// Nil unless all of `bytes` are one public area.
    static func read(_ bytes: Data) -> TPM2B_PUBLIC? {
        var area = TPM2B_PUBLIC()
        var offset = 0
        let code = bytes.withUnsafeBytes {
            Tss2_MU_TPM2B_PUBLIC_Unmarshal($0.bindMemory(to: UInt8.self).baseAddress, $0.count, &offset, &area)
        }
        return code == 0 && offset == bytes.count ? area : nil
    }

    /// `04 || X || Y`. A chip may leave out leading zeros of a coordinate.
    static func point(_ point: TPMS_ECC_POINT) -> Data? {
        guard let x = coordinate(point.x), let y = coordinate(point.y) else { return nil }
        return Data([0x04]) + x + y
    }

    /// A coordinate, or one half of a signature, as 32 bytes.
    static func coordinate(_ number: TPM2B_ECC_PARAMETER) -> Data? {
        guard number.size <= 32 else { return nil }
        let bytes = withUnsafeBytes(of: number.buffer) { Data($0.prefix(Int(number.size))) }
        return Data(count: 32 - bytes.count) + bytes
    }
}

/// The bytes that a marshalling function of tpm2-tss writes; nil when it fails.
func marshalled(
    atMost count: Int, _ body: (UnsafeMutablePointer<UInt8>?, Int, UnsafeMutablePointer<Int>) -> TSS2_RC
) -> Data? {
    var data = Data(count: count)
    var offset = 0
    let code = data.withUnsafeMutableBytes {
        body($0.bindMemory(to: UInt8.self).baseAddress, $0.count, &offset)
    }
    return code == 0 ? data.prefix(offset) : nil
}

extension TPM2B_NAME {
    var bytes: Data { withUnsafeBytes(of: name) { Data($0.prefix(Int(size))) } }
}

extension TPM2B_DIGEST {
    var bytes: Data { withUnsafeBytes(of: buffer) { Data($0.prefix(Int(size))) } }

    /// - Parameter bytes: at most 64.
    mutating func set(_ bytes: Data) {
        size = UInt16(bytes.count)
        withUnsafeMutableBytes(of: &buffer) { _ = bytes.copyBytes(to: $0) }
    }
}

extension TPM2B_ECC_PARAMETER {
    /// - Parameter bytes: at most 32.
    mutating func set(_ bytes: Data) {
        size = UInt16(bytes.count)
        withUnsafeMutableBytes(of: &buffer) { _ = bytes.copyBytes(to: $0) }
    }
}

extension PublicArea {
    /// The name of an NV index with this area; nil for one that cannot be encoded.
    static func name(of index: TPMS_NV_PUBLIC) -> Data? {
        var index = index
        let area = marshalled(atMost: MemoryLayout<TPMS_NV_PUBLIC>.size) {
            Tss2_MU_TPMS_NV_PUBLIC_Marshal(&index, $0, $1, $2)
        }
        return area.map(ChipObject.name(ofArea:))
    }
}
