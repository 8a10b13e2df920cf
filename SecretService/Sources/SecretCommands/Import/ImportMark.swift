import Crypto
import Foundation
import SecretItems

/// What an import notes in an item that it brought (``OwnedSecret/origin``), so that it finds the item again.
///
/// A keyring may give its items other paths at each start, so an item is known by what stays: its collection, its attributes but the schema,
/// and when it was made. Only where several items are the same in all of these the path counts, too.
///
/// As text: `import 1`, the identity as 64 hexadecimal digits, when the item was modified, and its path, with blanks between them.
struct ImportMark: Equatable {
    private static let beginning = "import 1"

    /// SHA-256 over collection, time and attributes, each with its length in front.
    let identity: String
    let modified: UInt64
    let path: String

    init(of item: SourceItem, in collection: SourceCollection) {
        identity = Self.identity(of: item, in: collection)
        (modified, path) = (item.modified, item.path)
    }

    /// Nil for a text that no import wrote.
    init?(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 4)
        guard parts.count == 5, "\(parts[0]) \(parts[1])" == Self.beginning, let modified = UInt64(parts[3]) else {
            return nil
        }
        (identity, self.modified, path) = (String(parts[2]), modified, String(parts[4]))
    }

    var text: String { "\(Self.beginning) \(identity) \(modified) \(path)" }

    private static func identity(of item: SourceItem, in collection: SourceCollection) -> String {
        var hash = SHA256()
        func add(_ text: String) {
            let bytes = Data(text.utf8)
            hash.update(data: Data("\(bytes.count):".utf8))
            hash.update(data: bytes)
        }
        add(collection.pathName)
        add("\(item.created)")
        // The order of their bytes is the same on every machine.
        let names = item.attributes.keys.filter { !$0.isSame(as: SourceSchema.attribute) }
            .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        for name in names {
            add(name)
            add(item.attributes[name] ?? "")
        }
        return hash.finalize().map { byte in
            let digits = String(byte, radix: 16)
            return digits.utf8.count == 1 ? "0" + digits : digits
        }.joined()
    }
}
