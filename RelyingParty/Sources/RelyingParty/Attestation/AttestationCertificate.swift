import Crypto
import CryptoExtras
import Foundation
import SwiftASN1
import X509

/// Checks that several formats make of an attestation certificate.
struct AttestationCertificate {
    let certificate: Certificate

    init(_ certificate: Certificate) { self.certificate = certificate }

    var isOnP256: Bool { P256.Signing.PublicKey(certificate.publicKey) != nil }

    /// Checks a signature that the certificate's key made, with an algorithm of the format.
    func verify(
        _ signature: ArraySlice<UInt8>, of message: [UInt8], algorithm: Int, _ format: AttestationFormat
    ) throws(AttestationError) {
        guard format.certificateAlgorithms.contains(algorithm) else { throw .algorithm(algorithm) }
        if let padded = COSEAlgorithm(rawValue: algorithm), padded.hasPSS {
            return try verifyPSS(signature, of: message, padded)
        }
        guard let algorithm = Self.algorithms[algorithm] else { throw .algorithm(algorithm) }
        guard signature.count <= Limits.signatureByteCount,
            certificate.publicKey.isValidSignature(signature, for: message, signatureAlgorithm: algorithm)
        else { throw .signatureInvalid }
    }

    /// swift-certificates verifies no RSA with PSS.
    private func verifyPSS(
        _ signature: ArraySlice<UInt8>, of message: [UInt8], _ algorithm: COSEAlgorithm
    ) throws(AttestationError) {
        guard let key = _RSA.Signing.PublicKey(certificate.publicKey),
            RSASignature(Data(signature), algorithm).isValid(message, key)
        else { throw .signatureInvalid }
    }

    /// The algorithms but PSS that certificates can have keys for.
    private static let algorithms: [Int: Certificate.SignatureAlgorithm] = [
        COSEAlgorithm.es256.rawValue: .ecdsaWithSHA256, COSEAlgorithm.es384.rawValue: .ecdsaWithSHA384,
        COSEAlgorithm.es512.rawValue: .ecdsaWithSHA512, COSEAlgorithm.edDSA.rawValue: .ed25519,
        COSEAlgorithm.rs256.rawValue: .sha256WithRSAEncryption,
        AttestationFormat.rsaWithSHA1: .sha1WithRSAEncryption,
    ]

    func requireVersion3() throws(AttestationError) {
        guard certificate.version == .v3 else { throw .certificate(.version3) }
    }

    func requireNotAuthority() throws(AttestationError) {
        do {
            guard case .notCertificateAuthority? = try certificate.extensions.basicConstraints else {
                throw AttestationError.certificate(.notAuthority)
            }
        } catch let error as AttestationError {
            throw error
        } catch {
            throw .extensionUnreadable
        }
    }

    /// The content of an extension, or nil if there is none.
    func content(of identifier: ASN1ObjectIdentifier) throws(AttestationError) -> ASN1Node? {
        guard let content = certificate.extensions[oid: identifier] else { return nil }
        do { return try DER.parse(content.value) } catch { throw .extensionUnreadable }
    }

    /// Requires that the certificate, if it names a model, names the authenticator's (section 8.2.1).
    func requireModel(_ aaguid: ArraySlice<UInt8>) throws(AttestationError) {
        guard let node = try content(of: Self.modelIdentifier) else { return }
        let model: ASN1OctetString
        do { model = try ASN1OctetString(derEncoded: node) } catch { throw .extensionUnreadable }
        guard certificate.extensions[oid: Self.modelIdentifier]?.critical == false else { throw .extensionUnreadable }
        guard model.bytes.elementsEqual(aaguid) else { throw .modelMismatch }
    }

    private static let modelIdentifier: ASN1ObjectIdentifier = [1, 3, 6, 1, 4, 1, 45724, 1, 1, 4]

    /// Requires that the certificate is for the credential's key.
    func requireKey(_ key: CredentialPublicKey) throws(AttestationError) {
        let attested: Certificate.PublicKey =
            switch key.key {
            case .p256(let key): Certificate.PublicKey(key)
            case .p384(let key): Certificate.PublicKey(key)
            case .p521(let key): Certificate.PublicKey(key)
            case .ed25519(let key): Certificate.PublicKey(key)
            case .rsa(let key): Certificate.PublicKey(key)
            // No certificate that swift-certificates reads has such a key.
            case .mlDSA44, .mlDSA65, .mlDSA87: throw .keyMismatch
            }
        guard certificate.publicKey == attested else { throw .keyMismatch }
    }
}
