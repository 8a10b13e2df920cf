import Foundation
import Security

@c(SecAccessControlCreateWithFlags)
func createAccessControl(
    _ allocator: Handle?, _ protection: Handle?, _ flags: CFOptionFlags, _ error: HandlePlace
) -> Handle? {
    reporting(to: error) { error throws(UnusableArgument) in
        SecAccessControlCreateWithFlags(
            nil, try protection.object.required(), SecAccessControlCreateFlags(rawValue: flags), error)
    }
}
