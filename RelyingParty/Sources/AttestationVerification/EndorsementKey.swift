import Crypto
import CryptoExtras
import Foundation
import LabeledOAEP
import RelyingParty
import X509

/// The key of a TPM that its maker certified. It decrypts, and signs nothing.
enum EndorsementKey {
    /// With 2,048 bits and the exponent 65,537.
    case rsa(modulus: Data)
    case p256(P256.KeyAgreement.PublicKey)
    case p384(P384.KeyAgreement.PublicKey)

    /// The key in an area that is one of the templates; nil for another area.
    init?(in area: [UInt8]) throws(RightAttestationError) {
        if let modulus = try KeyArea.rsaEndorsementKey.key(in: area, .enrollment)?.modulus {
            self = .rsa(modulus: Data(modulus))
        } else if let point = try KeyArea.p256EndorsementKey.key(in: area, .enrollment)?.p256Point,
            let key = try? P256.KeyAgreement.PublicKey(x963Representation: point)
        {
            self = .p256(key)
        } else if let point = try KeyArea.p384EndorsementKey.key(in: area, .enrollment)?.p384Point,
            let key = try? P384.KeyAgreement.PublicKey(x963Representation: point)
        {
            self = .p384(key)
        } else {
            return nil
        }
    }

    /// Whether `certificate` is for this key.
    func isKey(of certificate: Certificate) -> Bool {
        switch self {
        case .rsa(let modulus):
            guard let key = _RSA.Signing.PublicKey(certificate.publicKey), let numbers = try? key.getKeyPrimitives()
            else { return false }
            return numbers.modulus.elementsEqual(modulus) && numbers.publicExponent.elementsEqual([1, 0, 1])
        case .p256(let key):
            return P256.Signing.PublicKey(certificate.publicKey)?.x963Representation == key.x963Representation
        case .p384(let key):
            return P384.Signing.PublicKey(certificate.publicKey)?.x963Representation == key.x963Representation
        }
    }

    /// A secret for the TPM that has this key and an object with this name; nil when the key takes none.
    func credential(with secret: Data, for name: [UInt8]) -> Data? {
        switch self {
        case .rsa(let modulus):
            let seed = EndorsementCredential<SHA256>.Seed(SymmetricKey(size: .bits256))
            guard let wrapped = LabeledOAEP.encrypt(seed.exposed, label: seed.label, modulus: modulus) else {
                return nil
            }
            return EndorsementCredential(seed, wrapped: wrapped, cipherKeyByteCount: 16).file(with: secret, for: name)
        case .p256(let key):
            let own = P256.KeyAgreement.PrivateKey()
            guard let shared = try? own.sharedSecretFromKeyAgreement(with: key) else { return nil }
            return EndorsementCredential<SHA256>(
                shared, own.publicKey.rawRepresentation, key.rawRepresentation, cipherKeyByteCount: 16
            ).file(with: secret, for: name)
        case .p384(let key):
            let own = P384.KeyAgreement.PrivateKey()
            guard let shared = try? own.sharedSecretFromKeyAgreement(with: key) else { return nil }
            return EndorsementCredential<SHA384>(
                shared, own.publicKey.rawRepresentation, key.rawRepresentation, cipherKeyByteCount: 32
            ).file(with: secret, for: name)
        }
    }
}
