import Foundation
public import Security

@c(SecAccessControlCreateWithFlags)
public func createAccessControl(
    _ allocator: Handle?, _ protection: Handle?, _ flags: CFOptionFlags, _ error: HandlePlace
) -> Handle? {
    reporting(to: error) { error throws(UnusableArgument) in
        SecAccessControlCreateWithFlags(
            nil, try protection.object.required(), SecAccessControlCreateFlags(rawValue: flags), error)
    }
}

@c(SecAccessControlCreateWithGrantLimits)
public func limitAccessControl(
    _ allocator: Handle?, _ accessControl: Handle?, _ idleSeconds: UInt32, _ hardSeconds: UInt32, _ uses: UInt32,
    _ error: HandlePlace
) -> Handle? {
    reporting(to: error) { error throws(UnusableArgument) in
        SecAccessControlCreateWithGrantLimits(
            nil, try accessControl.object(SecAccessControl.self).required(), idleSeconds, hardSeconds, uses, error)
    }
}
