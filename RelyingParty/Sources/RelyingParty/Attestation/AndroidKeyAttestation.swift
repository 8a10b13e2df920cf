import CanonicalCBOR
import SwiftASN1
import X509

/// The format `android-key` (WebAuthn Level 3, section 8.4; Android's "Key and ID attestation").
enum AndroidKeyAttestation {
    private static let descriptionIdentifier: ASN1ObjectIdentifier = [1, 3, 6, 1, 4, 1, 11129, 2, 1, 17]

    static func verify(_ map: CBORMap, _ subject: AttestationSubject) throws(AttestationError) -> AttestationEvidence {
        let statement = try AttestationStatement(map, allowed: [.alg, .sig, .x5c])
        let algorithm = try statement.integer(.alg)
        let signature = try statement.bytes(.sig)
        let certificates = try statement.certificates()
        let leaf = AttestationCertificate(certificates[0])
        try leaf.verify(signature, of: subject.message.bytes, algorithm: algorithm, .androidKey)
        try leaf.requireKey(subject.publicKey)
        guard let node = try leaf.content(of: descriptionIdentifier) else { throw .certificate(.formatExtension) }
        let description: AndroidKeyDescription
        do { description = try AndroidKeyDescription(derEncoded: node) } catch { throw .extensionUnreadable }
        guard description.challenge.bytes.elementsEqual(subject.message.clientDataHash) else {
            throw .challengeMismatch
        }
        try require(description)
        return .certificates(certificates)
    }

    /// A property counts in either list: which keys a system keeps in hardware is not asked here.
    private static func require(_ description: AndroidKeyDescription) throws(AttestationError) {
        let lists = [description.software, description.hardware]
        guard !lists.contains(where: \.isForAllApplications) else { throw .androidKey(.notForAllApplications) }
        let origins = lists.compactMap(\.origin)
        guard !origins.isEmpty, origins.allSatisfy({ $0 == AndroidAuthorizations.generated }) else {
            throw .androidKey(.generatedInDevice)
        }
        let purposes = lists.flatMap(\.purposes)
        guard !purposes.isEmpty, purposes.allSatisfy({ $0 == AndroidAuthorizations.signing }) else {
            throw .androidKey(.forSigning)
        }
    }
}
