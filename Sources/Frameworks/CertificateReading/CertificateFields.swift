package import Foundation
import SwiftASN1

/// Why bytes are no certificate, or a part of one cannot be read.
package enum CertificateDefect: Error, Equatable {
    case malformed
}

/// The fields that are read from a certificate (RFC 5280, section 4.1): enough for its name, its key and the attributes of an item.
///
/// Parts that are called whole are the certificate's own bytes, tag and length included. Nothing is encoded again. Nothing here says
/// whether the certificate is trusted.
package struct CertificateFields: Sendable {
    package enum KeyType: Sendable {
        case rsa, ellipticCurve, other
    }

    /// Content of the INTEGER, as it is encoded.
    package let serialNumber: Data
    /// The whole INTEGER, DER.
    package let serialNumberDER: Data
    /// The whole Name, DER.
    package let issuer: Data
    package let subject: CertificateName
    /// The whole SubjectPublicKeyInfo, DER.
    package let subjectPublicKeyInfo: Data
    package let keyType: KeyType
    /// The bare key: what the BIT STRING of the SubjectPublicKeyInfo has.
    package let publicKeyBytes: Data
    /// The subject key identifier, if the certificate has one.
    package let subjectKeyID: Data?
    /// 1 to 3, for X.509 v1 to v3.
    package let version: Int
    /// Both times, a SEQUENCE in DER that has not been read: what it says makes a certificate no less one.
    package let validityDER: Data

    private let subjectAlternativeName: Data?

    /// Reads exactly one certificate in DER. The signature is not verified.
    package init(der: Data) throws(CertificateDefect) {
        do { try self.init(DER.parse([UInt8](der))) } catch { throw .malformed }
    }

    private init(_ root: ASN1Node) throws {
        let whole = try Self.children(of: root)
        guard whole.count == 3 else { throw CertificateDefect.malformed }
        try Self.requireAlgorithm(whole[1])
        _ = try ASN1BitString(derEncoded: whole[2])
        var parts = try Self.children(of: whole[0])[...]
        version = try Self.version(taking: &parts)
        guard parts.count >= 6 else { throw CertificateDefect.malformed }
        let nodes = Array(parts)
        serialNumber = try Self.integer(nodes[0])
        serialNumberDER = Data(nodes[0].encodedBytes)
        try Self.requireAlgorithm(nodes[1])
        issuer = try CertificateName(nodes[2]).der
        _ = try Self.children(of: nodes[3])
        validityDER = Data(nodes[3].encodedBytes)
        subject = try CertificateName(nodes[4])
        subjectPublicKeyInfo = Data(nodes[5].encodedBytes)
        (keyType, publicKeyBytes) = try Self.key(nodes[5])
        let extensions = try Self.extensions(in: nodes.dropFirst(6))
        subjectKeyID = try extensions[Self.subjectKeyIdentifier].map { identifier in
            Data(try ASN1OctetString(derEncoded: DER.parse([UInt8](identifier))).bytes)
        }
        subjectAlternativeName = extensions[Self.subjectAlternativeNames]
    }

    /// The best name that the subject has.
    package var subjectSummary: String { subject.summary }

    /// The subject as a whole Name, DER.
    package var subjectDER: Data { subject.der }

    /// The addresses among the alternative names of the subject, and then those in its name; throws if the alternative
    /// names are none.
    package func emailAddresses() throws -> [String] {
        // GeneralName (RFC 5280, section 4.2.1.6): rfc822Name is an IA5String.
        let address = ASN1Identifier(tagWithNumber: 1, tagClass: .contextSpecific)
        guard let subjectAlternativeName else { return subject.emailAddresses }
        let names = try DER.parse([UInt8](subjectAlternativeName))
        let addresses = try Self.children(of: names).filter { $0.identifier == address }.map { name in
            let bytes = try Self.content(of: name, address)
            guard bytes.allSatisfy({ $0 < 0x80 }) else { throw CertificateDefect.malformed }
            return String(decoding: bytes, as: UTF8.self)
        }
        return addresses + subject.emailAddresses
    }

    // MARK: steps

    /// id-ce-subjectKeyIdentifier (RFC 5280, section 4.2.1.2).
    private static let subjectKeyIdentifier: ASN1ObjectIdentifier = [2, 5, 29, 14]
    /// id-ce-subjectAltName (RFC 5280, section 4.2.1.6).
    private static let subjectAlternativeNames: ASN1ObjectIdentifier = [2, 5, 29, 17]

    static func children(
        of node: ASN1Node, _ identifier: ASN1Identifier = .sequence
    ) throws(CertificateDefect) -> [ASN1Node] {
        guard node.identifier == identifier, case .constructed(let nodes) = node.content else { throw .malformed }
        return Array(nodes)
    }

    private static func content(of node: ASN1Node, _ identifier: ASN1Identifier) throws(CertificateDefect) -> Data {
        guard node.identifier == identifier, case .primitive(let bytes) = node.content else { throw .malformed }
        return Data(bytes)
    }

    /// The content of an INTEGER, which has as few bytes as the number needs (X.690, section 8.3.2). Some authorities gave serial numbers
    /// below zero, and longer ones than RFC 5280 allows.
    private static func integer(_ node: ASN1Node) throws(CertificateDefect) -> Data {
        let bytes = try Self.content(of: node, .integer)
        guard let first = bytes.first else { throw .malformed }
        if let second = bytes.dropFirst().first {
            let isPadded = second < 0x80 ? first == 0 : first == 0xFF
            guard !isPadded else { throw .malformed }
        }
        return bytes
    }

    private static func version(taking parts: inout ArraySlice<ASN1Node>) throws -> Int {
        let tag = ASN1Identifier(tagWithNumber: 0, tagClass: .contextSpecific)
        guard let first = parts.first, first.identifier == tag else { return 1 }
        parts = parts.dropFirst()
        let numbers = try children(of: first, tag)
        guard numbers.count == 1 else { throw CertificateDefect.malformed }
        let version = try Int(derEncoded: numbers[0])
        guard (0...2).contains(version) else { throw CertificateDefect.malformed }
        return version + 1
    }

    /// Of an AlgorithmIdentifier: a name, and parameters if the algorithm has some.
    @discardableResult
    private static func requireAlgorithm(_ node: ASN1Node) throws -> ASN1ObjectIdentifier {
        let parts = try children(of: node)
        guard let name = parts.first, parts.count <= 2 else { throw CertificateDefect.malformed }
        return try ASN1ObjectIdentifier(derEncoded: name)
    }

    private static func key(_ node: ASN1Node) throws -> (KeyType, Data) {
        let parts = try children(of: node)
        guard parts.count == 2 else { throw CertificateDefect.malformed }
        let algorithm = try requireAlgorithm(parts[0])
        let type: KeyType =
            switch algorithm {
            case .AlgorithmIdentifier.rsaEncryption: .rsa
            case .AlgorithmIdentifier.idEcPublicKey: .ellipticCurve
            default: .other
            }
        let bits = try ASN1BitString(derEncoded: parts[1])
        guard bits.paddingBits == 0 else { throw CertificateDefect.malformed }
        return (type, Data(bits.bytes))
    }

    /// The values of the extensions by their names. Of two with one name the first counts.
    ///
    /// - Parameter parts: all behind the key. The unique identifiers of issuer and subject may come before the extensions.
    private static func extensions(in parts: ArraySlice<ASN1Node>) throws -> [ASN1ObjectIdentifier: Data] {
        let tags = [1, 2, 3].map { ASN1Identifier(tagWithNumber: $0, tagClass: .contextSpecific) }
        var left = tags[...]
        for part in parts {
            guard let place = left.firstIndex(of: part.identifier) else { throw CertificateDefect.malformed }
            left = left[(place + 1)...]
        }
        guard let wrapper = parts.last, wrapper.identifier == tags[2] else { return [:] }
        let lists = try children(of: wrapper, tags[2])
        guard lists.count == 1 else { throw CertificateDefect.malformed }
        var extensions: [ASN1ObjectIdentifier: Data] = [:]
        for entry in try children(of: lists[0]) {
            let parts = try children(of: entry)
            // Name, whether it is critical, value.
            guard parts.count == 2 || parts.count == 3 && parts[1].identifier == .boolean else {
                throw CertificateDefect.malformed
            }
            let identifier = try ASN1ObjectIdentifier(derEncoded: parts[0])
            let value = try ASN1OctetString(derEncoded: parts[parts.count - 1])
            guard extensions[identifier] == nil else { continue }
            extensions[identifier] = Data(value.bytes)
        }
        return extensions
    }
}
