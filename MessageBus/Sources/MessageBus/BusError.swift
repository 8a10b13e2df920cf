import Glibc

/// A call of sd-bus that failed, or an error that the other side answered with.
public struct BusError: Error, Equatable, CustomStringConvertible {
    /// The function of sd-bus, or the method that was called.
    public let call: String
    /// An `errno`.
    public let code: CInt
    /// The D-Bus name of an answered error, for example `org.freedesktop.DBus.Error.NameHasNoOwner`; empty without one.
    public let name: String

    public init(_ call: String, code: CInt, name: String = "") {
        self.call = call
        self.code = code
        self.name = name
    }

    /// The result of a function of sd-bus, which is a negative `errno` when it failed.
    @discardableResult
    static func check(_ result: CInt, _ call: String) throws(BusError) -> CInt {
        guard result >= 0 else { throw BusError(call, code: -result) }
        return result
    }

    /// Nobody has the bus name that was asked for.
    public var isNameWithoutOwner: Bool { name == "org.freedesktop.DBus.Error.NameHasNoOwner" }

    /// There is no such object, or none any more.
    public var isUnknownObject: Bool {
        name == "org.freedesktop.DBus.Error.UnknownObject" || name == "org.freedesktop.DBus.Error.UnknownMethod"
    }

    public var description: String { unsafe "\(call): \(name.isEmpty ? String(cString: strerror(code)) : name)" }
}
