import Foundation
import OstiaryClient

/// What names one item for good, as bytes that a program may keep: four letters of the class, then the 16 bytes of the id.
struct PersistentReference: Equatable {
    static let idByteCount = 16
    private static let classByteCount = 4

    let itemClass: ItemClass
    let id: Data

    /// The reference of an item; an identity has that of its certificate.
    init(_ item: StoredItem, of itemClass: ItemClass) {
        self.itemClass = itemClass == .identity ? .certificate : itemClass
        id = item.id
    }

    /// Reads a reference. The older form, with a row number, and those of token items name nothing here.
    init(bytes: Data) throws(StatusError) {
        let name = String(decoding: bytes.prefix(Self.classByteCount), as: UTF8.self)
        guard bytes.count == Self.classByteCount + Self.idByteCount, let itemClass = ItemClass(rawValue: name) else {
            throw .parameter("The persistent reference is malformed.")
        }
        self.itemClass = itemClass
        id = Data(bytes.suffix(Self.idByteCount))
    }

    var bytes: Data { Data(itemClass.rawValue.utf8) + id }
}
