package import Foundation
import SwiftASN1

/// A distinguished name (RFC 5280, section 4.1.2.4).
package struct CertificateName: Sendable {
    /// The whole Name, DER.
    package let der: Data
    private let attributes: [(type: ASN1ObjectIdentifier, value: String)]

    init(_ node: ASN1Node) throws {
        der = Data(node.encodedBytes)
        var attributes: [(ASN1ObjectIdentifier, String)] = []
        for set in try CertificateFields.children(of: node) {
            let members = try CertificateFields.children(of: set, .set)
            guard !members.isEmpty else { throw CertificateDefect.malformed }
            for attribute in members {
                let parts = try CertificateFields.children(of: attribute)
                guard parts.count == 2 else { throw CertificateDefect.malformed }
                let type = try ASN1ObjectIdentifier(derEncoded: parts[0])
                // A value in an encoding that is not text for us takes no part in names.
                if let text = Self.text(parts[1]) { attributes.append((type, text)) }
            }
        }
        self.attributes = attributes
    }

    /// The texts of the name, in their order.
    package var values: [String] { attributes.map(\.value) }

    package var commonName: String? { last(.NameAttributes.commonName) }

    /// The addresses in the name (RFC 5280, section 4.1.2.6, which asks for alternative names instead).
    var emailAddresses: [String] { attributes.filter { $0.type == Self.emailAddress }.map(\.value) }

    /// The common name, else unit, organization, or the last attribute there is.
    var summary: String {
        commonName ?? last(.NameAttributes.organizationalUnitName) ?? last(.NameAttributes.organizationName)
            ?? attributes.last?.value ?? ""
    }

    /// PKCS #9 (RFC 2985, section 5.2.1).
    private static let emailAddress: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 9, 1]

    private func last(_ type: ASN1ObjectIdentifier) -> String? { attributes.last { $0.type == type }?.value }

    private static func text(_ node: ASN1Node) -> String? {
        guard case .primitive(let bytes) = node.content else { return nil }
        return switch node.identifier {
        case .utf8String, .printableString, .ia5String: String(validating: bytes, as: UTF8.self)
        case .bmpString: String(bytes: bytes, encoding: .utf16BigEndian)
        case .teletexString: String(bytes: bytes, encoding: .isoLatin1)
        default: nil
        }
    }
}
