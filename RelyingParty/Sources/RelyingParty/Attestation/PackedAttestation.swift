import CanonicalCBOR
import Foundation
import SwiftASN1
import X509

/// The format `packed` (WebAuthn Level 3, section 8.2).
enum PackedAttestation {
    static func verify(_ map: CBORMap, _ subject: AttestationSubject) throws(AttestationError) -> AttestationEvidence {
        let statement = try AttestationStatement(map, allowed: [.alg, .sig, .x5c])
        let algorithm = try statement.integer(.alg)
        let signature = try statement.bytes(.sig)
        guard statement.has(.x5c) else {
            guard algorithm == subject.publicKey.algorithm.rawValue else { throw .algorithm(algorithm) }
            guard subject.publicKey.isValid(Data(signature), for: subject.message) else { throw .signatureInvalid }
            return .credentialKey
        }
        let certificates = try statement.certificates()
        let leaf = AttestationCertificate(certificates[0])
        try leaf.verify(signature, of: subject.message.bytes, algorithm: algorithm, .packed)
        try leaf.requireVersion3()
        try requireSubject(of: leaf.certificate)
        try leaf.requireNotAuthority()
        try leaf.requireModel(subject.credential.aaguid)
        return .certificates(certificates)
    }

    /// A country of two letters, an organization, the unit "Authenticator Attestation", and a name (section 8.2.1).
    private static func requireSubject(of certificate: Certificate) throws(AttestationError) {
        let attributes = certificate.subject.flatMap { Array($0) }
        func values(_ type: ASN1ObjectIdentifier) -> [String] {
            attributes.filter { $0.type == type }.map { String($0.value) ?? "" }
        }
        guard let country = values(.RDNAttributeType.countryName).first, country.utf8.count == 2,
            values(.RDNAttributeType.organizationName).first?.isEmpty == false,
            values(.RDNAttributeType.organizationalUnitName).first == "Authenticator Attestation",
            values(.RDNAttributeType.commonName).first?.isEmpty == false
        else { throw .certificate(.subject) }
    }
}
