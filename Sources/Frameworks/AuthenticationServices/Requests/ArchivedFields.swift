import Foundation
import Synchronization

/// The fields of an object, which threads may read and change at any time.
final class LockedFields<Fields: Sendable>: Sendable {
    private let fields: Mutex<Fields>

    init(_ fields: Fields) { self.fields = Mutex(fields) }

    subscript<Value: Sendable>(_ field: WritableKeyPath<Fields, Value>) -> Value {
        get { fields.withLock { $0[keyPath: field] } }
        set { fields.withLock { $0[keyPath: field] = newValue } }
    }

    /// All of them, of one moment.
    var all: Fields { fields.withLock { $0 } }
}

/// How objects are archived: all their fields, as one property list.
extension NSCoder {
    private static let key = "OstiaryFields"

    func encode(fields: some Encodable) {
        guard let bytes = try? PropertyListEncoder().encode(fields) else { return }
        encode(NSData(data: bytes), forKey: Self.key)
    }

    /// nil for an archive of something else.
    func decodeFields<Fields: Decodable>(_ type: Fields.Type = Fields.self) -> Fields? {
        guard let bytes = decodeObject(of: NSData.self, forKey: Self.key) else { return nil }
        return try? PropertyListDecoder().decode(type, from: Data(referencing: bytes))
    }
}
