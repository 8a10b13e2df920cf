import Foundation
public import Security

// Every object: owners and kinds. `ostiary-security.h` describes each function of this module.

@c(ostiary_CFRetain)
public func retain(_ object: Handle?) -> Handle? { Handle(owning: object.object) }

@c(ostiary_CFRelease)
public func release(_ object: Handle?) {
    guard let object else { return }
    Unmanaged<AnyObject>.fromOpaque(object).release()
}

@c(ostiary_CFEqual)
public func equal(_ first: Handle?, _ second: Handle?) -> UInt8 {
    guard first != second else { return 1 }
    guard let first = first.foundation, let second = second.foundation else { return 0 }
    return CFEqual(first, second) ? 1 : 0
}

@c(ostiary_CFHash)
public func hash(_ object: Handle?) -> CFHashCode { CFHash(object.foundation) }

@c(ostiary_CFCopyDescription)
public func copyDescription(_ object: Handle?) -> Handle? { Handle(owning: CFCopyDescription(object.foundation)) }

@c(ostiary_CFGetTypeID)
public func typeID(_ object: Handle?) -> CFTypeID {
    switch object.object {
    case is ObjectDictionary: CFDictionaryGetTypeID()
    case is ObjectArray: CFArrayGetTypeID()
    case is ObjectError: CFErrorGetTypeID()
    case let object: CFGetTypeID(object)
    }
}

@c(ostiary_CFCopyTypeIDDescription)
public func copyTypeDescription(_ typeID: CFTypeID) -> Handle? { Handle(owning: CFCopyTypeIDDescription(typeID)) }

@c(ostiary_CFStringGetTypeID)
public func stringTypeID() -> CFTypeID { CFStringGetTypeID() }
@c(ostiary_CFDataGetTypeID)
public func dataTypeID() -> CFTypeID { CFDataGetTypeID() }
@c(ostiary_CFNumberGetTypeID)
public func numberTypeID() -> CFTypeID { CFNumberGetTypeID() }
@c(ostiary_CFBooleanGetTypeID)
public func booleanTypeID() -> CFTypeID { CFBooleanGetTypeID() }
@c(ostiary_CFDateGetTypeID)
public func dateTypeID() -> CFTypeID { CFDateGetTypeID() }
@c(ostiary_CFArrayGetTypeID)
public func arrayTypeID() -> CFTypeID { CFArrayGetTypeID() }
@c(ostiary_CFDictionaryGetTypeID)
public func dictionaryTypeID() -> CFTypeID { CFDictionaryGetTypeID() }
@c(ostiary_CFErrorGetTypeID)
public func errorTypeID() -> CFTypeID { CFErrorGetTypeID() }
@c(ostiary_CFNullGetTypeID)
public func nullTypeID() -> CFTypeID { CFNullGetTypeID() }
@c(SecAccessControlGetTypeID)
public func accessControlTypeID() -> CFTypeID { SecAccessControlGetTypeID() }
@c(SecKeyGetTypeID)
public func keyTypeID() -> CFTypeID { SecKeyGetTypeID() }
@c(SecCertificateGetTypeID)
public func certificateTypeID() -> CFTypeID { SecCertificateGetTypeID() }
@c(SecIdentityGetTypeID)
public func identityTypeID() -> CFTypeID { SecIdentityGetTypeID() }
@c(SecTaskGetTypeID)
public func taskTypeID() -> CFTypeID { SecTaskGetTypeID() }
@c(SecKeychainItemGetTypeID)
public func keychainItemTypeID() -> CFTypeID { SecKeychainItemGetTypeID() }
@c(SecPolicyGetTypeID)
public func policyTypeID() -> CFTypeID { SecPolicyGetTypeID() }
@c(SecTrustGetTypeID)
public func trustTypeID() -> CFTypeID { SecTrustGetTypeID() }
