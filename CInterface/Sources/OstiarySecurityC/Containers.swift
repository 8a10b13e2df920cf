import Foundation

@c(ostiary_CFDictionaryCreateMutable)
public func createMutableDictionary(_ allocator: Handle?, _ capacity: Int, _ keys: Handle?, _ values: Handle?)
    -> Handle?
{
    Handle(owning: ObjectDictionary())
}

@c(ostiary_CFDictionaryCreate)
public func createDictionary(
    _ allocator: Handle?, _ keys: UnsafePointer<Handle?>?, _ values: UnsafePointer<Handle?>?, _ count: Int,
    _ keyCallBacks: Handle?, _ valueCallBacks: Handle?
) -> Handle? {
    guard let keys = objects(at: keys, count: count), let values = objects(at: values, count: count) else { return nil }
    return Handle(owning: ObjectDictionary(keys: keys, values: values))
}

@c(ostiary_CFDictionaryAddValue)
public func addValue(_ dictionary: Handle?, _ key: Handle?, _ newValue: Handle?) {
    if value(dictionary, key) == nil { setValue(dictionary, key, newValue) }
}

@c(ostiary_CFDictionarySetValue)
public func setValue(_ dictionary: Handle?, _ key: Handle?, _ value: Handle?) {
    guard let key = key.object(NSObject.self), let value = value.object(NSObject.self) else { return }
    dictionary.object(ObjectDictionary.self)?[key] = value
}

@c(ostiary_CFDictionaryRemoveValue)
public func removeValue(_ dictionary: Handle?, _ key: Handle?) {
    guard let key = key.object(NSObject.self) else { return }
    dictionary.object(ObjectDictionary.self)?[key] = nil
}

@c(ostiary_CFDictionaryGetValue)
public func value(_ dictionary: Handle?, _ key: Handle?) -> Handle? {
    guard let key = key.object(NSObject.self) else { return nil }
    return dictionary.object(ObjectDictionary.self)?[key].map { Handle(borrowing: $0) }
}

@c(ostiary_CFDictionaryGetCount)
public func count(_ dictionary: Handle?) -> Int { dictionary.object(ObjectDictionary.self)?.count ?? 0 }

@c(ostiary_CFDictionaryContainsKey)
public func containsKey(_ dictionary: Handle?, _ key: Handle?) -> UInt8 { value(dictionary, key) == nil ? 0 : 1 }

@c(ostiary_CFDictionaryGetValueIfPresent)
public func valueIfPresent(_ dictionary: Handle?, _ key: Handle?, _ place: HandlePlace) -> UInt8 {
    guard let value = value(dictionary, key) else { return 0 }
    place?.pointee = value
    return 1
}

@c(ostiary_CFDictionaryGetKeysAndValues)
public func keysAndValues(_ dictionary: Handle?, _ keys: HandlePlace, _ values: HandlePlace) {
    guard let pairs = dictionary.object(ObjectDictionary.self)?.pairs else { return }
    for (index, pair) in pairs.enumerated() {
        keys?[index] = Handle(borrowing: pair.key)
        values?[index] = Handle(borrowing: pair.value)
    }
}

@c(ostiary_CFDictionaryCreateCopy)
public func copyDictionary(_ allocator: Handle?, _ dictionary: Handle?) -> Handle? {
    Handle(owning: dictionary.object(ObjectDictionary.self).map { ObjectDictionary($0, isMutable: false) })
}

@c(ostiary_CFDictionaryCreateMutableCopy)
public func copyMutableDictionary(_ allocator: Handle?, _ capacity: Int, _ dictionary: Handle?) -> Handle? {
    guard capacity >= 0 else { return nil }
    return Handle(owning: dictionary.object(ObjectDictionary.self).map { ObjectDictionary($0, isMutable: true) })
}

@c(ostiary_CFArrayCreateCopy)
public func copyArray(_ allocator: Handle?, _ array: Handle?) -> Handle? {
    Handle(owning: array.object(ObjectArray.self).map { ObjectArray($0.objects) })
}

@c(ostiary_CFArrayCreateMutableCopy)
public func copyMutableArray(_ allocator: Handle?, _ capacity: Int, _ array: Handle?) -> Handle? {
    guard capacity >= 0 else { return nil }
    return Handle(owning: array.object(ObjectArray.self).map { ObjectArray(filling: $0.objects) })
}

@c(ostiary_CFArrayCreate)
public func createArray(
    _ allocator: Handle?, _ values: UnsafePointer<Handle?>?, _ count: Int, _ callBacks: Handle?
) -> Handle? {
    objects(at: values, count: count).flatMap { Handle(owning: ObjectArray($0)) }
}

@c(ostiary_CFArrayCreateMutable)
public func createMutableArray(_ allocator: Handle?, _ capacity: Int, _ callBacks: Handle?) -> Handle? {
    Handle(owning: ObjectArray())
}

@c(ostiary_CFArrayAppendValue)
public func appendValue(_ array: Handle?, _ value: Handle?) {
    guard let value = value.object(NSObject.self) else { return }
    array.object(ObjectArray.self)?.append(value)
}

@c(ostiary_CFArrayGetCount)
public func arrayCount(_ array: Handle?) -> Int { array.object(ObjectArray.self)?.objects.count ?? 0 }

@c(ostiary_CFArrayGetValueAtIndex)
public func arrayValue(_ array: Handle?, _ index: Int) -> Handle? {
    guard let objects = array.object(ObjectArray.self)?.objects, objects.indices.contains(index) else { return nil }
    return Handle(borrowing: objects[index])
}

/// The objects that `count` handles at `place` name; nil for a negative count, and where a handle is missing.
private func objects(at place: UnsafePointer<Handle?>?, count: Int) -> [NSObject]? {
    guard count >= 0 else { return nil }
    let objects = UnsafeBufferPointer(start: place, count: place == nil ? 0 : count).compactMap {
        $0.object(NSObject.self)
    }
    return objects.count == count ? objects : nil
}
