public import Foundation

/// A stored password by its reference (Apple's `SecKeychainItem` of macOS). It holds no secret: it names the item, as its
/// persistent reference does, also after the item was changed. Equal to another one of the same item.
public final class SecKeychainItem: NSObject, Sendable {
    let reference: PersistentReference

    init(_ reference: PersistentReference) {
        self.reference = reference
        super.init()
    }

    public override func isEqual(_ object: Any?) -> Bool {
        (object as? SecKeychainItem)?.reference == reference
    }

    public override var hash: Int { reference.bytes.hashValue }

    /// `<SecKeychainItemRef: genp>`.
    public override var description: String { "<SecKeychainItemRef: \(reference.itemClass.rawValue)>" }
}

/// The type id of ``SecKeychainItem``, for comparison with ``CFGetTypeID(_:)``.
@discardableResult
public func SecKeychainItemGetTypeID() -> CFTypeID { TypeID.keychainItem.rawValue }
