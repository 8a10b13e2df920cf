import CanonicalCBOR
import Crypto
import SwiftASN1
import X509

/// The format `apple` (WebAuthn Level 3, section 8.8).
enum AppleAttestation {
    private static let nonceIdentifier: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 8, 2]

    static func verify(_ map: CBORMap, _ subject: AttestationSubject) throws(AttestationError) -> AttestationEvidence {
        // Older systems also send `alg`, which says nothing that the certificate does not.
        let statement = try AttestationStatement(map, allowed: [.alg, .x5c])
        let certificates = try statement.certificates()
        let leaf = AttestationCertificate(certificates[0])
        guard let node = try leaf.content(of: nonceIdentifier) else { throw .certificate(.formatExtension) }
        let nonce: ASN1OctetString
        do {
            nonce = try DER.sequence(node, identifier: .sequence) { nodes in
                try DER.explicitlyTagged(&nodes, tagNumber: 1, tagClass: .contextSpecific) {
                    try ASN1OctetString(derEncoded: $0)
                }
            }
        } catch {
            throw .extensionUnreadable
        }
        guard nonce.bytes.elementsEqual(subject.message.digest(SHA256.self)) else { throw .challengeMismatch }
        try leaf.requireKey(subject.publicKey)
        return .certificates(certificates)
    }
}
