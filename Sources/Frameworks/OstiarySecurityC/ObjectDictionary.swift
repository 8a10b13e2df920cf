import Foundation
import Security

/// The dictionary of C programs.
///
/// Not Foundation's: on Linux that one makes its values anew at each access, and a value that a C program gets has to live as
/// long as the dictionary.
final class ObjectDictionary: NSObject {
    /// How deep dictionaries lie in one another at most where they are read: attributes of a key, and of each of its halves,
    /// with room for more. A dictionary that holds itself has an end by it.
    private static let maximumDepth = 8

    private var entries: [NSObject: NSObject]
    private let isMutable: Bool

    /// An empty one, to be filled.
    override init() {
        (entries, isMutable) = ([:], true)
        super.init()
    }

    /// One that was returned by a call and stays as it is.
    init(_ dictionary: NSDictionary) {
        var entries: [NSObject: NSObject] = [:]
        for (key, value) in dictionary {
            guard let key = (key as AnyObject) as? NSObject, let value = (value as AnyObject) as? NSObject else { continue }
            entries[key] = value.forC
        }
        (self.entries, isMutable) = (entries, false)
        super.init()
    }

    var count: Int { entries.count }

    /// The value of a key; setting nil removes it. What a call returned is not changed.
    subscript(key: NSObject) -> NSObject? {
        get { entries[key] }
        set { if isMutable { entries[key] = newValue } }
    }

    /// The same as Foundation's dictionary; nil if dictionaries lie too deep in one another.
    func foundation(depth: Int = 0) -> NSDictionary? {
        guard depth < Self.maximumDepth else { return nil }
        var values: [NSObject] = []
        for value in entries.values {
            guard let nested = value as? ObjectDictionary else {
                values.append((value as? ObjectArray)?.foundation ?? value)
                continue
            }
            guard let dictionary = nested.foundation(depth: depth + 1) else { return nil }
            values.append(dictionary)
        }
        return NSDictionary(objects: values, forKeys: Array(entries.keys))
    }
}

/// The array of C programs, which only calls return; not Foundation's, for the same reason.
final class ObjectArray: NSObject {
    let objects: [NSObject]
    let foundation: NSArray

    init(_ array: NSArray) {
        foundation = array
        objects = array.compactMap { (($0 as AnyObject) as? NSObject)?.forC }
        super.init()
    }
}

extension NSObject {
    /// The object as C programs get it.
    var forC: NSObject {
        switch self {
        case let dictionary as NSDictionary: ObjectDictionary(dictionary)
        case let array as NSArray: ObjectArray(array)
        default: self
        }
    }
}
