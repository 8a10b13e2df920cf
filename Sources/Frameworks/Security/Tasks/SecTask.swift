public import Foundation

/// A process whose entitlements are asked about (Apple's `SecTask`): here always this process, which has none,
/// registered or not. The access groups of a registration are known to the daemon alone.
public final class SecTask: NSObject, Sendable {
    fileprivate override init() {}
}

/// This process.
@discardableResult
public func SecTaskCreateFromSelf(_ allocator: CFAllocator?) -> SecTask? { SecTask() }

/// Nil without an error: the process does not have the entitlement.
@discardableResult
public func SecTaskCopyValueForEntitlement(
    _ task: SecTask, _ entitlement: CFString, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFTypeRef? { nil }

/// Empty, since the process has none of `entitlements`; nil, and in `error` `errSecParam`, if they are not all strings.
@discardableResult
public func SecTaskCopyValuesForEntitlements(
    _ task: SecTask, _ entitlements: CFArray, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFDictionary? {
    unsafe reportingErrors(to: error) {
        guard entitlements is [String] else {
            throw StatusError.parameter("The names of the entitlements are not all strings.")
        }
        return [:]
    }
}

/// Nil without an error: programs carry no code signature on Linux.
@discardableResult
public func SecTaskCopySigningIdentifier(
    _ task: SecTask, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFString? { nil }

/// Zero: programs carry no code signature on Linux, so none of Apple's flags holds.
@discardableResult
public func SecTaskGetCodeSignStatus(_ task: SecTask) -> UInt32 { 0 }

/// The type id of ``SecTask``, for comparison with ``CFGetTypeID(_:)``.
@discardableResult
public func SecTaskGetTypeID() -> CFTypeID { TypeID.task.rawValue }
