import Crypto
import CryptoExtras
import Foundation
import RelyingParty
import SwiftASN1
import X509

/// An authority that issues attestation certificates.
struct TestAuthority {
    let key = P256.Signing.PrivateKey()
    let certificate: Certificate

    init(_ name: String = "Root", issuedBy issuer: TestAuthority? = nil) throws {
        let subject = try DistinguishedName { CommonName(name) }
        let constraints = try Certificate.Extension(
            BasicConstraints.isCertificateAuthority(maxPathLength: nil), critical: true)
        certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: Certificate.PublicKey(key.publicKey),
            notValidBefore: WebAuthnVerifier.date - 1000, notValidAfter: WebAuthnVerifier.date + 1000,
            issuer: issuer?.certificate.subject ?? subject, subject: subject, signatureAlgorithm: .ecdsaWithSHA256,
            extensions: Certificate.Extensions([constraints]),
            issuerPrivateKey: Certificate.PrivateKey(issuer?.key ?? key))
    }

    func issue(_ leaf: TestLeaf, for publicKey: Certificate.PublicKey) throws -> Certificate {
        let extensions = leaf.version == .v3 ? try Certificate.Extensions(leaf.extensions) : Certificate.Extensions()
        return try Certificate(
            version: leaf.version, serialNumber: Certificate.SerialNumber(), publicKey: publicKey,
            notValidBefore: WebAuthnVerifier.date - 100, notValidAfter: leaf.notAfter, issuer: certificate.subject,
            subject: leaf.subject, signatureAlgorithm: .ecdsaWithSHA256, extensions: extensions,
            issuerPrivateKey: Certificate.PrivateKey(key))
    }
}

/// What an attestation certificate says.
struct TestLeaf {
    static let unit = "Authenticator Attestation"

    var version: Certificate.Version = .v3
    var subject: DistinguishedName
    var extensions: [Certificate.Extension]
    var notAfter = WebAuthnVerifier.date + 100

    init() throws {
        subject = try Self.subject()
        extensions = [try Self.constraints(.notCertificateAuthority)]
    }

    static func constraints(_ constraints: BasicConstraints) throws -> Certificate.Extension {
        try Certificate.Extension(constraints, critical: true)
    }

    static func subject(
        country: String? = "AA", organization: String? = "Tests", unit: String? = unit, name: String? = "Key"
    ) throws -> DistinguishedName {
        let types = RelativeDistinguishedName.Attribute.self
        let attributes = [
            country.map { types.init(type: .RDNAttributeType.countryName, utf8String: $0) },
            organization.map { types.init(type: .RDNAttributeType.organizationName, utf8String: $0) },
            unit.map { types.init(type: .RDNAttributeType.organizationalUnitName, utf8String: $0) },
            name.map { types.init(type: .RDNAttributeType.commonName, utf8String: $0) },
        ]
        return try DistinguishedName(attributes.compactMap { $0 })
    }

    /// The model, as an octet string.
    static func model(_ aaguid: [UInt8], critical: Bool = false) -> Certificate.Extension {
        Certificate.Extension(
            oid: [1, 3, 6, 1, 4, 1, 45724, 1, 1, 4], critical: critical,
            value: ([0x04, UInt8(aaguid.count)] + aaguid)[...])
    }
}

extension Certificate {
    var der: [UInt8] {
        get throws {
            var serializer = DER.Serializer()
            try serializer.serialize(self)
            return serializer.serializedBytes
        }
    }
}

/// Members of a statement, which a test may change.
struct TestStatement {
    var members: [(String, CBORItem)]

    subscript(name: String) -> CBORItem? {
        get { members.first { $0.0 == name }?.1 }
        set {
            members.removeAll { $0.0 == name }
            if let newValue { members.append((name, newValue)) }
        }
    }

    var item: CBORItem { .map(members.map { (.text($0.0), $0.1) }) }
}

extension [Certificate] {
    /// The value of `x5c`.
    var chain: CBORItem {
        get throws { .array(try map { .bytes(try $0.der) }) }
    }
}

extension TestKey {
    /// The public key, as certificates have it.
    var certificateKey: Certificate.PublicKey {
        switch self {
        case .p256(let key): Certificate.PublicKey(key.publicKey)
        case .p384(let key): Certificate.PublicKey(key.publicKey)
        case .p521(let key): Certificate.PublicKey(key.publicKey)
        case .ed25519(let key): Certificate.PublicKey(key.publicKey)
        case .rsa(let key, _): Certificate.PublicKey(key.publicKey)
        case .mlDSA44, .mlDSA65, .mlDSA87: preconditionFailure("No certificate has such a key here.")
        }
    }
}

extension WebAuthnVerifier {
    /// A verifier that trusts `root` for `format`.
    static func trusting(
        _ root: Certificate, _ format: AttestationFormat, _ requirement: AttestationPolicy.Requirement = .any
    ) throws -> Self {
        WebAuthnVerifier(
            relyingPartyIdentifier: "example.org", origins: ["https://example.org"],
            attestation: try AttestationPolicy(requirement, anchors: [format: [Data(root.der)]]))
    }
}
