import Foundation

/// The array of C programs; not Foundation's, for the same reason as ``ObjectDictionary``.
final class ObjectArray: NSObject {
    private(set) var objects: [NSObject]
    private let isMutable: Bool

    /// An empty one, to be filled.
    override init() {
        (objects, isMutable) = ([], true)
        super.init()
    }

    /// Makes an array that never changes.
    init(_ objects: [NSObject]) {
        (self.objects, isMutable) = (objects, false)
        super.init()
    }

    /// One that was returned by a call.
    convenience init(_ array: NSArray) {
        self.init(array.compactMap { (($0 as AnyObject) as? NSObject)?.forC })
    }

    /// One that can be filled further.
    init(filling objects: [NSObject]) {
        (self.objects, isMutable) = (objects, true)
        super.init()
    }

    /// Adds an object at the end, to an array that was made to be filled.
    func append(_ object: NSObject) { if isMutable { objects.append(object) } }

    /// The same as Foundation's array; nil if containers lie too deep in one another.
    func foundation(depth: Int = 0) -> NSArray? {
        objects.foundationObjects(depth: depth).map { NSArray(array: $0) }
    }
}
