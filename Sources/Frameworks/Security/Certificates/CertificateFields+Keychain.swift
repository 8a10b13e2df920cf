package import CertificateReading
package import Foundation

/// What a certificate's fields are among the keychain's own types.
extension CertificateFields {
    /// When the certificate is valid; throws if that cannot be read.
    package func validity() throws -> CertificateValidity { try CertificateValidity(der: validityDER) }

    /// The public key; throws for a kind that is not known.
    package func publicKey() throws -> any KeyBacking {
        switch keyType {
        case .rsa: try SoftwareKeys.read(publicKeyBytes, .rsa, .publicKey)
        case .ellipticCurve: try SoftwareKeys.read(publicKeyBytes, .ellipticCurve, .publicKey)
        case .other: throw StatusError(errSecUnimplemented, "Keys of this kind do not exist here.")
        }
    }

    /// SHA-1 of the public key: `pkhh`, and `klbl` of the key that belongs to it.
    package var publicKeyHash: Data { SoftwareKeyAttributes.applicationLabel(ofPublicKey: publicKeyBytes) }
}
