import Foundation
import Security

@c(SecTaskCreateFromSelf)
public func createTask(_ allocator: Handle?) -> Handle? { Handle(owning: SecTaskCreateFromSelf(nil)) }

@c(SecTaskCopyValueForEntitlement)
public func copyEntitlement(_ task: Handle?, _ entitlement: Handle?, _ error: HandlePlace) -> Handle? {
    reporting(to: error) { error throws(UnusableArgument) in
        let (task, name) = (try task.object(SecTask.self).required(), try entitlement.object(NSString.self).required())
        return SecTaskCopyValueForEntitlement(task, name, error) as? NSObject
    }
}

@c(SecTaskCopyValuesForEntitlements)
public func copyEntitlements(_ task: Handle?, _ entitlements: Handle?, _ error: HandlePlace) -> Handle? {
    reporting(to: error) { error throws(UnusableArgument) in
        SecTaskCopyValuesForEntitlements(
            try task.object(SecTask.self).required(), try entitlements.array.required(), error)
    }
}

@c(SecTaskCopySigningIdentifier)
public func copySigningIdentifier(_ task: Handle?, _ error: HandlePlace) -> Handle? {
    reporting(to: error) { error throws(UnusableArgument) in
        SecTaskCopySigningIdentifier(try task.object(SecTask.self).required(), error)
    }
}

@c(SecTaskGetCodeSignStatus)
public func codeSignStatus(_ task: Handle?) -> UInt32 { task.object(SecTask.self).map(SecTaskGetCodeSignStatus) ?? 0 }
