import CanonicalCBOR
import Crypto

/// The authenticator's half of the key agreement, one per protocol.
struct KeyAgreements {
    private var keys: [PINProtocol: P256.KeyAgreement.PrivateKey] = [:]

    init() { for version in PINProtocol.allCases { renew(version) } }

    mutating func renew(_ version: PINProtocol) { keys[version] = P256.KeyAgreement.PrivateKey() }

    func publicKey(_ version: PINProtocol) throws(CTAPStatus) -> CBORValue {
        guard let key = keys[version] else { throw .other }
        return COSEKey.value(key.publicKey)
    }

    /// - Parameter peer: the client's half.
    func secret(_ version: PINProtocol, with peer: CBORMap) throws(CTAPStatus) -> SharedSecret {
        let peer = try COSEKey.keyAgreementKey(peer)
        do {
            guard let key = keys[version] else { throw CTAPStatus.other }
            return SharedSecret(version, agreement: try key.sharedSecretFromKeyAgreement(with: peer))
        } catch {
            throw .invalidParameter
        }
    }
}
