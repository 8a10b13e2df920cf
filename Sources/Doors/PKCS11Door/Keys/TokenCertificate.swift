import CertificateReading
package import Foundation
import KeyAlgorithms

/// A certificate of the keychain, as the module shows it.
package struct TokenCertificate: Equatable, Sendable {
    package let object: TokenObject

    /// - Parameters:
    ///   - id: of the item.
    ///   - label: the item's; empty for the best name that the subject has.
    ///   - der: the item's data.
    /// - Returns: nil for data that is no certificate, or a larger one than a message carries.
    package init?(id: Data, label: String, der: Data) {
        guard let reference = ObjectReference(.certificate, .certificate, id: id),
            der.count <= PKCS11Limits.valueByteCount, let fields = try? CertificateFields(der: der)
        else { return nil }
        let attributes: [CryptokiAttribute: AttributeValue] = [
            .objectClass: .number(ObjectReference.ObjectClass.certificate.rawValue),
            .token: .flag(true), .isPrivate: .flag(false), .modifiable: .flag(false), .copyable: .flag(false),
            .destroyable: .flag(false), .label: .text(label.isEmpty ? fields.subjectSummary : label),
            // X.509, of no certain category.
            .certificateType: .number(0), .certificateCategory: .number(0),
            // Joins it with its key.
            .id: .bytes(HashAlgorithm.sha1.digest(of: fields.publicKeyBytes)),
            .subject: .bytes(fields.subjectDER), .issuer: .bytes(fields.issuer),
            .serialNumber: .bytes(fields.serialNumberDER), .value: .bytes(der),
        ]
        object = TokenObject(reference, attributes)
        guard object.isSendable else { return nil }
    }
}
