import CanonicalCBOR
import Crypto
import Foundation
import SwiftASN1
import X509

/// The format `tpm` (WebAuthn Level 3, section 8.3).
enum TPMAttestation {
    private static let attestationKeyUsage: ASN1ObjectIdentifier = [2, 23, 133, 8, 3]
    private static let manufacturer: ASN1ObjectIdentifier = [2, 23, 133, 2, 1]
    private static let model: ASN1ObjectIdentifier = [2, 23, 133, 2, 2]
    private static let version: ASN1ObjectIdentifier = [2, 23, 133, 2, 3]

    static func verify(_ map: CBORMap, _ subject: AttestationSubject) throws(AttestationError) -> AttestationEvidence {
        let statement = try AttestationStatement(map, allowed: [.ver, .alg, .x5c, .sig, .certInfo, .pubArea])
        guard try statement.text(.ver) == "2.0" else { throw .tpmStatement(.version) }
        let algorithm = try statement.integer(.alg)
        let signature = try statement.bytes(.sig)
        let certificates = try statement.certificates()
        let publicArea = try TPMPublicArea(try statement.bytes(.pubArea))
        let information = try statement.bytes(.certInfo)
        let certified = try TPMAttest(information)
        guard case .object(let name, _) = certified.subject else { throw .tpmStatement(.type) }
        try publicArea.requireKey(subject.publicKey)
        guard certified.extraData.elementsEqual(try digest(of: subject.message, algorithm)) else {
            throw .challengeMismatch
        }
        guard name.elementsEqual(publicArea.name) else { throw .tpmStatement(.name) }
        let leaf = AttestationCertificate(certificates[0])
        try leaf.verify(signature, of: Array(information), algorithm: algorithm, .tpm)
        try requireAttestationKey(leaf)
        try leaf.requireModel(subject.credential.aaguid)
        return .certificates(certificates)
    }

    /// The hash of the signing algorithm over the authenticator's message.
    private static func digest(of message: SignedMessage, _ algorithm: Int) throws(AttestationError) -> [UInt8] {
        switch algorithm {
        case COSEAlgorithm.es256.rawValue, COSEAlgorithm.rs256.rawValue: Array(message.digest(SHA256.self))
        case COSEAlgorithm.es384.rawValue: Array(message.digest(SHA384.self))
        case COSEAlgorithm.es512.rawValue: Array(message.digest(SHA512.self))
        case AttestationFormat.rsaWithSHA1: Array(message.digest(Insecure.SHA1.self))
        default: throw .algorithm(algorithm)
        }
    }

    /// The certificate is one of a TPM's attestation key (section 8.3.1).
    private static func requireAttestationKey(_ leaf: AttestationCertificate) throws(AttestationError) {
        try leaf.requireVersion3()
        guard leaf.certificate.subject.isEmpty else { throw .certificate(.subject) }
        try leaf.requireNotAuthority()
        let usages: ExtendedKeyUsage?
        let names: SubjectAlternativeNames?
        do {
            usages = try leaf.certificate.extensions.extendedKeyUsage
            names = try leaf.certificate.extensions.subjectAlternativeNames
        } catch {
            throw .extensionUnreadable
        }
        guard usages?.contains(ExtendedKeyUsage.Usage(oid: attestationKeyUsage)) == true else {
            throw .certificate(.extendedKeyUsage)
        }
        var attributes: [RelativeDistinguishedName.Attribute] = []
        for case .directoryName(let name) in names.map({ Array($0) }) ?? [] { attributes += name.flatMap { Array($0) } }
        func value(_ type: ASN1ObjectIdentifier) -> String? {
            attributes.first { $0.type == type }.flatMap { String($0.value) }
        }
        // "id:" and the number of the maker in hexadecimal (TCG EK Credential Profile, section 3.2.9). The anchors
        // decide which makers are trusted.
        guard let maker = value(manufacturer), maker.utf8.count == 11, maker.hasPrefix("id:"),
            maker.dropFirst(3).allSatisfy(\.isHexDigit), value(model)?.isEmpty == false,
            value(version)?.isEmpty == false
        else { throw .certificate(.alternativeName) }
    }
}
