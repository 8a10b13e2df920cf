import Foundation

/// The array of C programs; not Foundation's, for the same reason as ``ObjectDictionary``.
final class ObjectArray: NSObject {
    let objects: [NSObject]

    init(_ objects: [NSObject]) {
        self.objects = objects
        super.init()
    }

    /// One that was returned by a call.
    convenience init(_ array: NSArray) {
        self.init(array.compactMap { (($0 as AnyObject) as? NSObject)?.forC })
    }

    /// The same as Foundation's array; nil if containers lie too deep in one another.
    func foundation(depth: Int = 0) -> NSArray? {
        objects.foundationObjects(depth: depth).map { NSArray(array: $0) }
    }
}
