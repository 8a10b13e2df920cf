import Foundation
import KeyAlgorithms
import SecretMemory

/// A P-256 key that signs only what its approver approved. This code compares; the key itself would sign anything.
final class ApprovedSoftwareKey: OpenEnclaveKey {
    private let key: OpenSoftwareKey
    private let approver: Data

    init(_ key: OpenSoftwareKey, approver: Data) {
        self.key = key
        self.approver = approver
    }

    var publicKey: Data { key.publicKey }

    func signature(forDigest digest: Data) throws(EnclaveError) -> Data { throw .approvalNeeded }

    func signature(forDigest digest: Data, approvedBy approval: SignatureApproval) throws(EnclaveError) -> Data {
        guard digest.count == P256SigningKey.digestByteCount else { throw .invalidDigest }
        guard approval.approver == approver, approval.digest == digest else { throw .notApproved }
        return try key.signature(forDigest: digest)
    }
}
