import AccessControl
import Foundation
import OstiaryClient

/// The item that the query of an add stores.
struct NewItem {
    let attributes: ItemAttributeValues
    let accessControl: AccessControl
    let shownAccessControl: Data
    let data: Data?
    /// The enclave key that the item stands for.
    let keyID: Data?

    init(_ query: KeychainQuery) throws {
        if let enclaveKey = query.object?.enclaveKey {
            self = try NewItem(query, enclaveKey: enclaveKey.key)
            return
        }
        guard query.attributes[AttributeName.tokenID.rawValue] == nil else {
            throw StatusError.parameter("A token makes its own keys; they cannot be imported.")
        }
        let standard = SecAccessControl(protection: query.itemClass.standardAccessible, operations: nil)
        let protection = query.protection ?? ItemProtection(standard)
        try self.init(query, protection, shown: protection.shown, data: query.data ?? query.object?.itemData())
    }

    /// The item of an enclave key, which can always be read: what protects the key is kept with the key.
    init(_ query: KeychainQuery, enclaveKey key: EnclaveKey) throws {
        guard query.synchronizable != .yes else {
            throw StatusError.parameter(
                "The item of an enclave key cannot be synchronizable, because the key never leaves the enclave.")
        }
        let protection = ItemProtection(SecAccessControl(protection: "dk", operations: nil))
        let shown = ItemProtection.shown(of: key).map { ItemProtection($0).shown } ?? Data()
        try self.init(query, protection, shown: shown, key: key)
    }

    private init(
        _ query: KeychainQuery, _ protection: ItemProtection, shown: Data, data: Data? = nil, key: EnclaveKey? = nil
    ) throws {
        var attributes = (key?.itemAttributes ?? [:]).merging(query.attributes) { _, given in given }
        attributes[AttributeName.accessible.rawValue] = .text(protection.accessible)
        attributes[AttributeName.synchronizable.rawValue] = .number(query.synchronizable == .yes ? 1 : 0)
        self.attributes = attributes
        accessControl = try protection.canonical()
        shownAccessControl = shown
        self.data = data
        keyID = key?.id
    }
}
