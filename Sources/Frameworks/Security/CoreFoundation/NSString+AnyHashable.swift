public import Foundation

extension NSString: @retroactive _HasCustomAnyHashableRepresentation {
    /// An `NSString` is the same key as the equal `String`, as on Apple's systems. Foundation on Linux leaves this out, and
    /// `[AnyHashable: Any]` made with ``kSecClass`` would not be found with `"class"`.
    public func _toCustomAnyHashable() -> AnyHashable? { AnyHashable(self as String) }
}
