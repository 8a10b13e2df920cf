import Crypto
import Enclave
import Foundation
import SecretMemory

/// A P-256 key in the chip. This object has no key, only the value that the chip asks for. The chip forgets the key with
/// it.
final class OpenTPMKey: OpenEnclaveKey {
    let publicKey: Data
    let chip: Chip
    let object: ChipObject
    let authorization: SecretBytes

    init(_ object: ChipObject, publicKey: Data, authorization: borrowing SecretBytes, in chip: Chip) {
        self.object = object
        self.publicKey = publicKey
        self.authorization = SecretBytes(copying: authorization)
        self.chip = chip
    }

    deinit { chip.forget(ObjectIdentifier(object)) }

    /// Lets the chip check the authorization value, which loading a key does not. Nobody can use the signature: nobody
    /// sees it or knows the digest.
    ///
    /// - Parameter passcode: for a key below a passcode, which is loaded with it now. When the chip restarts, it forgets the
    ///   key, and the passcode is needed again.
    func proveAuthorization(_ passcode: TPMPasscodeSession?) throws(EnclaveError) {
        _ = try signature(forDigest: Data((0..<32).map { _ in UInt8.random(in: .min ... .max) }), passcode)
    }

    func signature(forDigest digest: Data) throws(EnclaveError) -> Data {
        guard digest.count == 32 else { throw .invalidDigest }
        return try signature(forDigest: digest, nil)
    }

    private func signature(forDigest digest: Data, _ passcode: TPMPasscodeSession?) throws(EnclaveError) -> Data {
        try chip.perform { [self] (connection) throws(ChipFault) in
            try connection.withLoaded(object, passcode: passcode) { (handle) throws(ChipFault) in
                try connection.sign(digest, with: handle, authorization: authorization)
            }
        }
    }

    func sharedSecret(withPublicKey peerKey: Data) throws(EnclaveError) -> SecretBytes {
        do {
            // Accepts only 65 bytes of format 04 with a point on the curve.
            _ = try P256.KeyAgreement.PublicKey(x963Representation: peerKey)
        } catch {
            throw .invalidPeerKey
        }
        return try chip.perform { [self] (connection) throws(ChipFault) in
            try connection.withLoaded(object) { (handle) throws(ChipFault) in
                try connection.agree(with: peerKey, key: handle, authorization: authorization)
            }
        }
    }
}
