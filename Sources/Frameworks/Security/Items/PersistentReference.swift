import Foundation
import OstiaryClient

/// What names one item for good, as bytes that a program may keep: four letters of the class, then the 16 bytes of the id. An
/// identity is named by both its parts: the id of its certificate, then the one of its private key.
struct PersistentReference: Equatable {
    private static let idByteCount = 16
    private static let classByteCount = 4

    let itemClass: KeychainClass
    /// Of an identity: that of its certificate.
    let id: Data
    /// The private key of an identity; nil for all other classes.
    let keyID: Data?

    /// The reference of an item; `keyID` is for identities alone.
    init(_ item: StoredItem, of itemClass: KeychainClass, keyID: Data?) {
        self.itemClass = itemClass
        id = item.id
        self.keyID = keyID
    }

    /// Reads a reference. The older form, with a row number, and those of token items name nothing here.
    init(bytes: Data) throws(StatusError) {
        let name = String(decoding: bytes.prefix(Self.classByteCount), as: UTF8.self)
        let ids = Data(bytes.dropFirst(Self.classByteCount))
        guard let itemClass = KeychainClass(rawValue: name),
            ids.count == (itemClass == .identity ? 2 : 1) * Self.idByteCount
        else { throw .parameter("The persistent reference is malformed.") }
        self.itemClass = itemClass
        id = Data(ids.prefix(Self.idByteCount))
        keyID = itemClass == .identity ? Data(ids.suffix(Self.idByteCount)) : nil
    }

    var bytes: Data { Data(itemClass.rawValue.utf8) + id + (keyID ?? Data()) }

    /// The item that is named; of an identity the certificate.
    var selection: ItemSelection {
        let itemClass = itemClass == .identity ? KeychainClass.certificate : itemClass
        return ItemSelection(itemClass: itemClass.rawValue, synchronizable: .any, id: id)
    }
}
