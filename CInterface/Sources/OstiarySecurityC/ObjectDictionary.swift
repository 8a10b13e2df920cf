import Foundation

/// The dictionary of C programs.
///
/// Foundation's dictionary does not serve: on Linux it makes new values at each access, but a value that a C program
/// gets must live as long as the dictionary.
final class ObjectDictionary: NSObject {
    private var entries: [NSObject: NSObject]
    private let isMutable: Bool

    /// An empty one, to be filled.
    override init() {
        (entries, isMutable) = ([:], true)
        super.init()
    }

    /// Makes a dictionary that never changes from the result of a call.
    init(_ dictionary: NSDictionary) {
        var entries: [NSObject: NSObject] = [:]
        for (key, value) in dictionary {
            guard let key = (key as AnyObject) as? NSObject, let value = (value as AnyObject) as? NSObject else {
                continue
            }
            entries[key] = value.forC
        }
        (self.entries, isMutable) = (entries, false)
        super.init()
    }

    /// Makes a dictionary that never changes. Of equal keys the first counts.
    init(keys: [NSObject], values: [NSObject]) {
        (entries, isMutable) = (Dictionary(zip(keys, values)) { first, _ in first }, false)
        super.init()
    }

    /// A copy of another one.
    init(_ other: ObjectDictionary, isMutable: Bool) {
        (entries, self.isMutable) = (other.entries, isMutable)
        super.init()
    }

    var count: Int { entries.count }

    /// All entries, in an order of its own.
    var pairs: [(key: NSObject, value: NSObject)] { entries.map { ($0.key, $0.value) } }

    /// The value of a key; setting nil removes it. One that was not made to be filled is not
    /// changed.
    subscript(key: NSObject) -> NSObject? {
        get { entries[key] }
        set { if isMutable { entries[key] = newValue } }
    }

    /// The same as Foundation's dictionary; nil if containers lie too deep in one another.
    func foundation(depth: Int = 0) -> NSDictionary? {
        entries.values.foundationObjects(depth: depth).map { NSDictionary(objects: $0, forKeys: Array(entries.keys)) }
    }
}
