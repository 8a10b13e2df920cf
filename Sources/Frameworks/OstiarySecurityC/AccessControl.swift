import Foundation
import Security

@c(SecAccessControlCreateWithFlags)
func createAccessControl(
    _ allocator: Handle?, _ protection: Handle?, _ flags: CFOptionFlags, _ error: ErrorPlace
) -> Handle? {
    reporting(to: error) { error in
        guard let protection = protection.object else { return nil }
        return SecAccessControlCreateWithFlags(nil, protection, SecAccessControlCreateFlags(rawValue: flags), error)
    }
}
