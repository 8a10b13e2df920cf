import Crypto
import Enclave
import Foundation
import SecretMemory

/// A P-256 key in the chip. This object has no key, only the value that the chip asks for. The chip forgets the key soon after
/// it.
final class OpenTPMKey: OpenEnclaveKey {
    let publicKey: Data
    /// The id of the user who owns the key.
    let owner: Data
    let chip: Chip
    let object: ChipObject
    let authorization: SecretBytes
    /// Nil for a key that signs for everybody with its authorization value.
    let terms: SignatureTerms?

    init(
        _ object: ChipObject, of owner: Data, publicKey: Data, authorization: borrowing SecretBytes,
        terms: SignatureTerms?, in chip: Chip
    ) {
        self.object = object
        self.owner = owner
        self.publicKey = publicKey
        self.authorization = SecretBytes(copying: authorization)
        self.terms = terms
        self.chip = chip
    }

    deinit { chip.forget(object) }

    /// Loads the key, and lets the chip check the authorization value where it can: loading a key does not. A key that
    /// was in use before comes back from its context.
    ///
    /// - Parameter passcode: for a key below a passcode, which is loaded with it now. When the chip restarts, it forgets the
    ///   key, and the passcode is needed again.
    func load(_ passcode: TPMPasscodeSession?) throws(EnclaveError) {
        // Nobody can use the signature over it: nobody sees it or knows the digest.
        let digest = Data((0..<32).map { _ in UInt8.random(in: .min ... .max) })
        let lock = passcode.map { ContextLock(of: object, $0, authorization: authorization) }
        try chip.perform(for: owner) { [self] (connection) throws(ChipFault) in
            if let lock, try connection.bringBack(object, lock) { return }
            try connection.withLoaded(object, passcode: passcode) { (handle) throws(ChipFault) in
                guard terms == nil else { return }
                _ = try connection.sign(digest, with: handle, authorization: authorization)
            }
            if let lock { connection.hold(lock, for: object) }
        }
    }

    func signature(forDigest digest: Data) throws(EnclaveError) -> Data {
        guard terms == nil else { throw .approvalNeeded }
        guard digest.count == 32 else { throw .invalidDigest }
        return try chip.perform(for: owner, using: object) { [self] (connection) throws(ChipFault) in
            try connection.withLoaded(object) { (handle) throws(ChipFault) in
                try connection.sign(digest, with: handle, authorization: authorization)
            }
        }
    }

    func signature(forDigest digest: Data, approvedBy approval: SignatureApproval) throws(EnclaveError) -> Data {
        guard let terms else { throw .unsupportedKey }
        guard digest.count == 32 else { throw .invalidDigest }
        guard approval.digest.count == 32 else { throw .notApproved }
        return try chip.perform(for: owner, using: object) { [self] (connection) throws(ChipFault) in
            try connection.withLoaded(object) { (handle) throws(ChipFault) in
                try connection.sign(digest, with: handle, named: object.name, on: terms, approvedBy: approval)
            }
        }
    }

    func sharedSecret(withPublicKey peerKey: Data) throws(EnclaveError) -> SecretBytes {
        guard terms == nil else { throw .unsupportedKey }
        do {
            // Accepts only 65 bytes of format 04 with a point on the curve.
            _ = try P256.KeyAgreement.PublicKey(x963Representation: peerKey)
        } catch {
            throw .invalidPeerKey
        }
        return try chip.perform(for: owner, using: object) { [self] (connection) throws(ChipFault) in
            try connection.withLoaded(object) { (handle) throws(ChipFault) in
                try connection.agree(with: peerKey, key: handle, authorization: authorization)
            }
        }
    }
}
