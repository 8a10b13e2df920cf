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
