public import Foundation
import Synchronization

/// A process whose entitlements are asked about (Apple's `SecTask`): here always this process.
public final class SecTask: NSObject, Sendable {
    fileprivate override init() {}
}

/// Tells which entitlements this process has. Given by the part that knows the registration of the program.
package protocol EntitlementSource: Sendable {
    /// The value of an entitlement as a property list; nil if the process does not have it.
    func value(forEntitlement name: String) throws -> Any?

    /// The application identifier; nil if the program is not registered.
    func signingIdentifier() throws -> String?
}

/// Where entitlements come from. Until a source is given a process has none.
package enum Entitlements {
    private static let installed = Mutex<(any EntitlementSource)?>(nil)

    /// Gives the source; nil takes it away again.
    package static func install(_ source: (any EntitlementSource)?) {
        installed.withLock { $0 = source }
    }

    fileprivate static var source: (any EntitlementSource)? { installed.withLock { $0 } }
}

/// This process.
@discardableResult
public func SecTaskCreateFromSelf(_ allocator: CFAllocator?) -> SecTask? { SecTask() }

/// The value of an entitlement of the process; nil without an error if it does not have it.
@discardableResult
public func SecTaskCopyValueForEntitlement(
    _ task: SecTask, _ entitlement: CFString, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFTypeRef? {
    unsafe reportingErrors(to: error) {
        try Entitlements.source?.value(forEntitlement: entitlement as String).map { $0 as AnyObject }
    } ?? nil
}

/// The values of those of `entitlements` that the process has, by name.
@discardableResult
public func SecTaskCopyValuesForEntitlements(
    _ task: SecTask, _ entitlements: CFArray, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFDictionary? {
    unsafe reportingErrors(to: error) {
        guard let names = entitlements as? [String] else {
            throw StatusError.parameter("The names of the entitlements are not all strings.")
        }
        var values: [String: Any] = [:]
        for name in names { values[name] = try Entitlements.source?.value(forEntitlement: name) }
        return values as CFDictionary
    }
}

/// The application identifier that the program was registered with; nil without an error if it was not.
@discardableResult
public func SecTaskCopySigningIdentifier(
    _ task: SecTask, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFString? {
    unsafe reportingErrors(to: error) { try Entitlements.source?.signingIdentifier().map { $0 as CFString } } ?? nil
}

/// Zero: programs carry no code signature on Linux, so none of Apple's flags holds.
@discardableResult
public func SecTaskGetCodeSignStatus(_ task: SecTask) -> UInt32 { 0 }

/// The type id of ``SecTask``, for comparison with ``CFGetTypeID(_:)``.
@discardableResult
public func SecTaskGetTypeID() -> CFTypeID { TypeID.task.rawValue }
