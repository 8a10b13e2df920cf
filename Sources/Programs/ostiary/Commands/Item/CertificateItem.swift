import CertificateReading
import Foundation
import KeyAlgorithms
import OstiaryClient

/// A certificate as an item.
enum CertificateItem {
    /// What the certificate says of itself, as the items of programs have it. Issuer and serial number tell the certificates of a group apart.
    static func attributes(of der: Data) throws -> ItemAttributeValues {
        let fields: CertificateFields
        do { fields = try CertificateFields(der: der) } catch {
            throw CommandError.usage(
                "This is no certificate in DER. `openssl x509 -in FILE -outform DER` makes one of a PEM file.")
        }
        var attributes: ItemAttributeValues = [
            // Apple's numbers for X.509 and for DER.
            "ctyp": .number(1), "cenc": .number(3), "subj": .data(fields.subjectDER), "issr": .data(fields.issuer),
            "slnr": .data(fields.serialNumber),
            "pkhh": .data(HashAlgorithm.sha1.digest(of: fields.publicKeyBytes)),
        ]
        if let id = fields.subjectKeyID { attributes["skid"] = .data(id) }
        return attributes
    }
}
