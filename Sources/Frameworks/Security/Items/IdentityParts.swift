import Foundation
import OstiaryClient

/// A query about identities, split into a query for the certificate and one for the private key. Nothing is stored
/// under the class of identities; the hash of the public key joins the two, `pkhh` of a certificate and `klbl` of a
/// key.
struct IdentityParts {
    private let query: KeychainQuery

    init(_ query: KeychainQuery) { self.query = query }

    /// The attributes that an identity takes from its certificate, and that find it. All others come from the key.
    static let certificateAttributes: Set<String> = Set(
        [
            AttributeName.label, .subject, .issuer, .serialNumber, .subjectKeyID, .publicKeyHash, .certificateType,
            .certificateEncoding,
        ].map(\.rawValue))

    /// Both parts are of the group that is asked for.
    private static let attributesOfBoth: Set<String> = [AttributeName.accessGroup.rawValue]

    // MARK: searching

    var certificates: ItemSelection {
        guard query.persistentReference == nil else { return query.selection }
        return ItemSelection(
            itemClass: KeychainClass.certificate.rawValue,
            attributes: query.attributes.filter {
                Self.certificateAttributes.contains($0.key) || Self.attributesOfBoth.contains($0.key)
            }, synchronizable: query.synchronizable ?? .no)
    }

    /// The private keys of the certificate with this `pkhh`, or the one that the persistent reference names; nil when the
    /// query is about keys that cannot be.
    func keys(of publicKeyHash: Data) -> ItemSelection? {
        var attributes = query.attributes.filter { !Self.certificateAttributes.contains($0.key) }
        let joining: ItemAttributeValues = [
            AttributeName.applicationLabel.rawValue: .data(publicKeyHash), AttributeName.keyClass.rawValue: .number(1),
        ]
        for (name, value) in joining {
            guard attributes.updateValue(value, forKey: name) ?? value == value else { return nil }
        }
        return ItemSelection(
            itemClass: KeychainClass.key.rawValue, attributes: attributes,
            synchronizable: query.persistentReference == nil ? query.synchronizable ?? .no : .any,
            id: query.persistentReference?.keyID)
    }

    // MARK: adding

    /// The query by which one part of a new identity is added.
    ///
    /// The key gets all that a key can have. The certificate is not behind the access control, which protects the
    /// private key: it gets the accessibility that the access control names.
    static func new(
        _ part: any ItemObject, of dictionary: CFDictionary
    ) throws(StatusError) -> KeychainQuery {
        let isKey = part.itemClass == .key
        let schema = ItemSchema.of(part.itemClass).attributes
        var entries: [String: Any] = [
            ControlKey.ValueKey.reference.rawValue: part, "class": part.itemClass.rawValue,
        ]
        for (key, value) in dictionary {
            switch try QueryKey(key) {
            case .attribute(AttributeName.accessControl.rawValue) where !isKey:
                let protection = (value as? SecAccessControl)?.protection
                entries[AttributeName.accessible.rawValue] = protection
            case .attribute(AttributeName.tokenID.rawValue) where !isKey: continue
            case .attribute(let name):
                let known = AttributeName(rawValue: name)
                guard let known, schema[known] != nil, entries[name] == nil else { continue }
                entries[name] = value
            case .control(.use(let name)): entries[name.rawValue] = value
            default: continue
            }
        }
        return try KeychainQuery(entries as CFDictionary, for: .add)
    }
}
