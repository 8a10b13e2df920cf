import Crypto
import Foundation
import KeyAlgorithms
import SecretMemory

/// The private halves of recipients, which never leave the enclave.
protocol PrivateKeys: Sendable {
    /// The secret that the key named `key` and the holder of `publicKey` share (ECDH): the X coordinate, 32 bytes.
    func agree(_ key: Data, with publicKey: Data) throws -> SecretBytes
    /// The secret that was encapsulated to the key named `key` (ML-KEM-768): 32 bytes.
    func decapsulate(_ encapsulated: Data, with key: Data) throws -> SecretBytes
}

/// A stanza has the tag of the identity and does not open with its key: it was changed, or has the tag by chance.
struct UnopenableStanza: Error {}

extension TaggedStanza {
    /// The file's key, which the holder of `identity` alone can have.
    ///
    /// - Throws: ``UnopenableStanza``, and what `keys` throws.
    func open(with identity: AgeIdentity, _ keys: some PrivateKeys) throws -> SecretBytes {
        switch kind {
        case .p256: return try openCurve(EnclaveAgreement(keys, identity.curveKey, identity.point))
        case .hybrid:
            guard let lattice = identity.latticeKey else { throw UnopenableStanza() }
            return try openHybrid(identity, lattice, keys)
        }
    }

    private func openCurve(_ key: EnclaveAgreement) throws -> SecretBytes {
        do {
            var recipient = try HPKE.Recipient(
                privateKey: key, ciphersuite: .age, info: kind.info, encapsulatedKey: encapsulated)
            var plain = try recipient.open(ciphertext)
            return SecretBytes(taking: &plain)
        } catch is CryptoKitError { throw UnopenableStanza() } catch is HPKE.Errors { throw UnopenableStanza() }
    }

    private func openHybrid(_ identity: AgeIdentity, _ lattice: Data, _ keys: some PrivateKeys) throws -> SecretBytes {
        let secret = HybridSecret.combine(
            lattice: try keys.decapsulate(latticeCiphertext, with: lattice),
            curve: try keys.agree(identity.curveKey, with: ephemeralKey),
            ephemeral: ephemeralKey, recipient: identity.point.uncompressed)
        let schedule = KeySchedule(.hybrid, sharedSecret: secret, info: kind.info)
        do {
            let box = try ChaChaPoly.SealedBox(
                nonce: ChaChaPoly.Nonce(data: schedule.nonce), ciphertext: ciphertext.dropLast(16),
                tag: ciphertext.suffix(16))
            var plain = try ChaChaPoly.open(box, using: schedule.key)
            return SecretBytes(taking: &plain)
        } catch is CryptoKitError { throw UnopenableStanza() }
    }
}

/// A key of the enclave as the library's HPKE takes one.
private struct EnclaveAgreement: HPKEDiffieHellmanPrivateKey {
    let publicKey: P256.KeyAgreement.PublicKey
    private let keys: any PrivateKeys
    private let name: Data

    init(_ keys: some PrivateKeys, _ name: Data, _ point: TaggedPoint) throws {
        (self.keys, self.name) = (keys, name)
        publicKey = try P256.KeyAgreement.PublicKey(x963Representation: point.uncompressed)
    }

    func sharedSecretFromKeyAgreement(with share: P256.KeyAgreement.PublicKey) throws -> SharedSecret {
        try SharedSecret(ofPointWithX: keys.agree(name, with: share.x963Representation))
    }
}
