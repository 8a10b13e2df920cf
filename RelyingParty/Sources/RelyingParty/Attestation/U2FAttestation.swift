import CanonicalCBOR
import Foundation
import X509

/// The format `fido-u2f` (WebAuthn Level 3, section 8.6).
enum U2FAttestation {
    static func verify(_ map: CBORMap, _ subject: AttestationSubject) throws(AttestationError) -> AttestationEvidence {
        let statement = try AttestationStatement(map, allowed: [.sig, .x5c])
        let signature = try statement.bytes(.sig)
        let certificates = try statement.certificates(count: 1...1)
        guard let point = subject.publicKey.p256Point else { throw .keyMismatch }
        let message: [UInt8] =
            [0x00] + subject.authenticatorData.relyingPartyHash + subject.message.clientDataHash
            + subject.credential.id + point
        let leaf = AttestationCertificate(certificates[0])
        guard leaf.isOnP256 else { throw .certificate(.keyType) }
        try leaf.verify(signature, of: message, algorithm: COSEAlgorithm.es256.rawValue, .fidoU2F)
        return .certificates(certificates)
    }
}
