import Foundation

extension NSObject {
    /// The object as C programs get it.
    var forC: NSObject {
        switch self {
        case let dictionary as NSDictionary: ObjectDictionary(dictionary)
        case let array as NSArray: ObjectArray(array)
        case let error as NSError: ObjectError(error)
        default: self
        }
    }

    /// The object as Foundation has it; nil if containers lie too deep in one another.
    ///
    /// - Parameter depth: how many containers lie around this one.
    func foundationObject(depth: Int = 0) -> NSObject? {
        switch self {
        case let dictionary as ObjectDictionary: dictionary.foundation(depth: depth)
        case let array as ObjectArray: array.foundation(depth: depth)
        case let error as ObjectError: error.foundation
        default: self
        }
    }
}

extension Sequence<NSObject> {
    /// The objects in a container at that depth, as Foundation's objects; nil if containers are nested too deep. So a
    /// container that holds itself is refused.
    func foundationObjects(depth: Int) -> [NSObject]? {
        // Attributes of a key, and of each of its halves, with room for more.
        let maximumDepth = 8
        guard depth < maximumDepth else { return nil }
        var objects: [NSObject] = []
        for object in self {
            guard let object = object.foundationObject(depth: depth + 1) else { return nil }
            objects.append(object)
        }
        return objects
    }
}
