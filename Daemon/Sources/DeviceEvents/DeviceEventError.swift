import Glibc

/// A call of sd-device or sd-event that failed.
package struct DeviceEventError: Error, Equatable, CustomStringConvertible {
    package let call: String
    /// An `errno`.
    package let code: CInt

    init(_ call: String, code: CInt) { (self.call, self.code) = (call, code) }

    /// The result of such a call, which is a negative `errno` when it failed.
    @discardableResult
    static func check(_ result: CInt, _ call: String) throws(DeviceEventError) -> CInt {
        guard result >= 0 else { throw DeviceEventError(call, code: -result) }
        return result
    }

    package var description: String { "\(call): \(String(cString: strerror(code)))" }
}
