import AccessControl
import Foundation
import OstiaryClient

/// A key of the enclave in `key list --json`.
struct KeyDocument: Encodable {
    let id: Data
    let label: String
    let tag: String
    let group: String
    /// Each permitted operation and what it asks for.
    let rules: [String: String]
    let availability: String
    let publicKey: Data
    let enclave: String
    fileprivate let requires: String

    private enum CodingKeys: CodingKey { case id, label, tag, group, rules, availability, publicKey, enclave }

    init(_ key: EnclaveKey, item: StoredItem) {
        func text(_ name: String) -> String { item.attributes[name].map { ItemDocument.Value($0).text } ?? "" }
        id = key.id
        label = text("labl")
        tag = text("atag")
        group = text("agrp")
        let access = key.accessControl
        rules = Dictionary(
            uniqueKeysWithValues: access.operations.compactMap { operation in
                access[operation].map { (operation.name, $0.description) }
            })
        availability = access.availability.name
        publicKey = key.publicKey
        enclave = key.enclaveKind
        requires = access.keyRequirement.description
    }
}

/// `key list --json`, and the table for people.
struct KeyListDocument: Encodable {
    let keys: [KeyDocument]

    func text() -> String {
        var table = TextTable(header: ["LABEL", "REQUIRES", "AVAILABLE", "ENCLAVE", "TAG", "ID"])
        for key in keys {
            table.append(key.label, key.requires, key.availability, key.enclave, key.tag, key.id.hexadecimal)
        }
        return table.text
    }
}
