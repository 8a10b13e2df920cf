package import Foundation
import SwiftASN1

/// The fields that are read from a certificate (RFC 5280, section 4.1): enough for its name, its key and the attributes
/// of an item.
package struct CertificateFields: Sendable {
    /// Content of the INTEGER, as it is encoded.
    package let serialNumber: Data
    /// The whole Name, DER.
    package let issuer: Data
    package let subject: CertificateName
    /// The whole SubjectPublicKeyInfo, DER.
    package let subjectPublicKeyInfo: Data
    /// The subject key identifier, if the certificate has one.
    package let subjectKeyID: Data?
    /// 1 to 3, for X.509 v1 to v3.
    package let version: Int

    private let subjectAlternativeName: Data?
    /// Both times, DER. They are read when somebody asks: what they say makes a certificate no less one.
    private let validityDER: Data
    private let algorithm: ASN1ObjectIdentifier
    private let publicKeyBytes: Data

    init(der: Data) throws {
        let root = try DER.parse([UInt8](der))
        let body: ASN1Node = try DER.sequence(root, identifier: .sequence) { nodes in
            guard let body = nodes.next(), nodes.next() != nil, nodes.next() != nil else { throw Self.malformed }
            return body
        }
        var parts = try Self.children(of: body)[...]
        version = try Self.version(taking: &parts)
        guard parts.count >= 6 else { throw Self.malformed }
        let nodes = Array(parts)
        serialNumber = try Self.content(of: nodes[0], .integer)
        issuer = Data(nodes[2].encodedBytes)
        validityDER = Data(nodes[3].encodedBytes)
        subject = try CertificateName(nodes[4])
        subjectPublicKeyInfo = Data(nodes[5].encodedBytes)
        (algorithm, publicKeyBytes) = try Self.key(nodes[5])
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

    /// When the certificate is valid; throws if that cannot be read.
    package func validity() throws -> CertificateValidity { try CertificateValidity(DER.parse([UInt8](validityDER))) }

    /// The public key; throws for a kind that is not known.
    package func publicKey() throws -> any KeyBacking {
        switch algorithm {
        case .AlgorithmIdentifier.rsaEncryption:
            try SoftwareKeys.read(publicKeyBytes, .rsa, .publicKey)
        case .AlgorithmIdentifier.idEcPublicKey:
            try SoftwareKeys.read(publicKeyBytes, .ellipticCurve, .publicKey)
        default:
            throw StatusError(errSecUnimplemented, "Keys of this kind do not exist here.")
        }
    }

    /// SHA-1 of the public key: `pkhh`, and `klbl` of the key that belongs to it.
    package var publicKeyHash: Data { SoftwareKeyAttributes.applicationLabel(ofPublicKey: publicKeyBytes) }

    /// The addresses among the alternative names of the subject, and then those in its name; throws if the alternative
    /// names are none.
    package func emailAddresses() throws -> [String] {
        // GeneralName (RFC 5280, section 4.2.1.6): rfc822Name is an IA5String.
        let address = ASN1Identifier(tagWithNumber: 1, tagClass: .contextSpecific)
        guard let subjectAlternativeName else { return subject.emailAddresses }
        let names = try DER.parse([UInt8](subjectAlternativeName))
        guard names.identifier == .sequence else { throw Self.malformed }
        let addresses = try Self.children(of: names).filter { $0.identifier == address }.map { name in
            let bytes = try Self.content(of: name, address)
            guard bytes.allSatisfy({ $0 < 0x80 }) else { throw Self.malformed }
            return String(decoding: bytes, as: UTF8.self)
        }
        return addresses + subject.emailAddresses
    }

    // MARK: steps

    /// id-ce-subjectKeyIdentifier (RFC 5280, section 4.2.1.2).
    private static let subjectKeyIdentifier: ASN1ObjectIdentifier = [2, 5, 29, 14]
    /// id-ce-subjectAltName (RFC 5280, section 4.2.1.6).
    private static let subjectAlternativeNames: ASN1ObjectIdentifier = [2, 5, 29, 17]

    static let malformed = StatusError(errSecDecode, "The bytes are not a certificate.")

    static func children(of node: ASN1Node) throws -> [ASN1Node] {
        guard case .constructed(let nodes) = node.content else { throw malformed }
        return Array(nodes)
    }

    private static func content(of node: ASN1Node, _ identifier: ASN1Identifier) throws -> Data {
        guard node.identifier == identifier, case .primitive(let bytes) = node.content else { throw malformed }
        return Data(bytes)
    }

    private static func version(taking parts: inout ArraySlice<ASN1Node>) throws -> Int {
        let tag = ASN1Identifier(tagWithNumber: 0, tagClass: .contextSpecific)
        guard let first = parts.first, first.identifier == tag else { return 1 }
        parts = parts.dropFirst()
        guard let number = try children(of: first).first else { throw malformed }
        let version = try Int(derEncoded: number)
        guard (0...2).contains(version) else { throw malformed }
        return version + 1
    }

    private static func key(_ node: ASN1Node) throws -> (ASN1ObjectIdentifier, Data) {
        let parts = try children(of: node)
        guard parts.count == 2, let algorithm = try children(of: parts[0]).first else { throw malformed }
        let bits = try ASN1BitString(derEncoded: parts[1])
        return (try ASN1ObjectIdentifier(derEncoded: algorithm), Data(bits.bytes))
    }

    /// The values of the extensions by their names. Of two with one name the first counts.
    private static func extensions(in parts: ArraySlice<ASN1Node>) throws -> [ASN1ObjectIdentifier: Data] {
        let tag = ASN1Identifier(tagWithNumber: 3, tagClass: .contextSpecific)
        guard let wrapper = parts.first(where: { $0.identifier == tag }) else { return [:] }
        guard let list = try children(of: wrapper).first else { throw malformed }
        var extensions: [ASN1ObjectIdentifier: Data] = [:]
        for entry in try children(of: list) {
            let parts = try children(of: entry)
            guard let name = parts.first, let value = parts.last, parts.count >= 2 else { throw malformed }
            let identifier = try ASN1ObjectIdentifier(derEncoded: name)
            guard extensions[identifier] == nil else { continue }
            extensions[identifier] = Data(try ASN1OctetString(derEncoded: value).bytes)
        }
        return extensions
    }
}
