package import Foundation
import SwiftASN1

/// What is read of a certificate (RFC 5280, section 4.1): enough for its name, its key and the attributes of an item.
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
        subject = try CertificateName(nodes[4])
        subjectPublicKeyInfo = Data(nodes[5].encodedBytes)
        (algorithm, publicKeyBytes) = try Self.key(nodes[5])
        subjectKeyID = try Self.subjectKeyID(in: nodes.dropFirst(6))
    }

    /// The best name that the subject has.
    package var subjectSummary: String { subject.summary }

    /// The subject as a whole Name, DER.
    package var subjectDER: Data { subject.der }

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

    // MARK: steps

    /// id-ce-subjectKeyIdentifier (RFC 5280, section 4.2.1.2).
    private static let subjectKeyIdentifier: ASN1ObjectIdentifier = [2, 5, 29, 14]

    static let malformed = StatusError(errSecDecode, "The bytes are no certificate.")

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

    private static func subjectKeyID(in parts: ArraySlice<ASN1Node>) throws -> Data? {
        let tag = ASN1Identifier(tagWithNumber: 3, tagClass: .contextSpecific)
        guard let wrapper = parts.first(where: { $0.identifier == tag }) else { return nil }
        guard let list = try children(of: wrapper).first else { throw malformed }
        for entry in try children(of: list) {
            let parts = try children(of: entry)
            guard let name = parts.first, let value = parts.last, parts.count >= 2 else { throw malformed }
            guard try ASN1ObjectIdentifier(derEncoded: name) == subjectKeyIdentifier else { continue }
            let inner = try DER.parse(Array(ASN1OctetString(derEncoded: value).bytes))
            return Data(try ASN1OctetString(derEncoded: inner).bytes)
        }
        return nil
    }
}
