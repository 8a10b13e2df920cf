import SwiftASN1

/// `KeyDescription` of Android's key attestation, as far as WebAuthn asks for it.
struct AndroidKeyDescription: DERParseable {
    let challenge: ASN1OctetString
    let software: AndroidAuthorizations
    let hardware: AndroidAuthorizations

    init(derEncoded node: ASN1Node) throws {
        self = try DER.sequence(node, identifier: .sequence) { nodes in
            // Version and security level of the attestation and of the key store.
            for _ in 0..<4 where nodes.next() == nil { throw AttestationError.extensionUnreadable }
            let challenge = try ASN1OctetString(derEncoded: &nodes)
            _ = try ASN1OctetString(derEncoded: &nodes)
            return Self(
                challenge: challenge, software: try AndroidAuthorizations(derEncoded: &nodes),
                hardware: try AndroidAuthorizations(derEncoded: &nodes))
        }
    }

    private init(challenge: ASN1OctetString, software: AndroidAuthorizations, hardware: AndroidAuthorizations) {
        self.challenge = challenge
        self.software = software
        self.hardware = hardware
    }
}

/// `AuthorizationList` of Android's key attestation: properties of a key by tag.
struct AndroidAuthorizations: DERParseable {
    /// KM_ORIGIN_GENERATED.
    static let generated = 0
    /// KM_PURPOSE_SIGN.
    static let signing = 2

    private(set) var purposes: [Int] = []
    private(set) var isForAllApplications = false
    private(set) var origin: Int?

    init(derEncoded node: ASN1Node) throws {
        let (purposes, isForAllApplications, origin) = try DER.sequence(node, identifier: .sequence) { nodes in
            var found: (purposes: [Int], isForAllApplications: Bool, origin: Int?) = ([], false, nil)
            while let node = nodes.next() {
                switch node.identifier {
                case Self.identifier(1):
                    found.purposes = try DER.explicitlyTagged(node, tagNumber: 1, tagClass: .contextSpecific) {
                        try DER.set(of: Int.self, identifier: .set, rootNode: $0)
                    }
                case Self.identifier(600): found.isForAllApplications = true
                case Self.identifier(702):
                    found.origin = try DER.explicitlyTagged(node, tagNumber: 702, tagClass: .contextSpecific) {
                        try Int(derEncoded: $0)
                    }
                default: break
                }
            }
            return found
        }
        self.purposes = purposes
        self.isForAllApplications = isForAllApplications
        self.origin = origin
    }

    private static func identifier(_ tag: UInt) -> ASN1Identifier {
        ASN1Identifier(tagWithNumber: tag, tagClass: .contextSpecific)
    }
}
