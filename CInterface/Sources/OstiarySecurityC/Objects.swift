import Foundation
import Security

// Every object: owners and kinds. `ostiary-security.h` describes each function of this module.

@c(ostiary_CFRetain)
func retain(_ object: Handle?) -> Handle? { Handle(owning: object.object) }

@c(ostiary_CFRelease)
func release(_ object: Handle?) {
    guard let object else { return }
    Unmanaged<AnyObject>.fromOpaque(object).release()
}

@c(ostiary_CFEqual)
func equal(_ first: Handle?, _ second: Handle?) -> UInt8 {
    guard first != second else { return 1 }
    guard let first = first.foundation, let second = second.foundation else { return 0 }
    return CFEqual(first, second) ? 1 : 0
}

@c(ostiary_CFHash)
func hash(_ object: Handle?) -> CFHashCode { CFHash(object.foundation) }

@c(ostiary_CFCopyDescription)
func copyDescription(_ object: Handle?) -> Handle? { Handle(owning: CFCopyDescription(object.foundation)) }

@c(ostiary_CFGetTypeID)
func typeID(_ object: Handle?) -> CFTypeID {
    switch object.object {
    case is ObjectDictionary: CFDictionaryGetTypeID()
    case is ObjectArray: CFArrayGetTypeID()
    case is ObjectError: CFErrorGetTypeID()
    case let object: CFGetTypeID(object)
    }
}

@c(ostiary_CFCopyTypeIDDescription)
func copyTypeDescription(_ typeID: CFTypeID) -> Handle? { Handle(owning: CFCopyTypeIDDescription(typeID)) }

@c(ostiary_CFStringGetTypeID)
func stringTypeID() -> CFTypeID { CFStringGetTypeID() }
@c(ostiary_CFDataGetTypeID)
func dataTypeID() -> CFTypeID { CFDataGetTypeID() }
@c(ostiary_CFNumberGetTypeID)
func numberTypeID() -> CFTypeID { CFNumberGetTypeID() }
@c(ostiary_CFBooleanGetTypeID)
func booleanTypeID() -> CFTypeID { CFBooleanGetTypeID() }
@c(ostiary_CFDateGetTypeID)
func dateTypeID() -> CFTypeID { CFDateGetTypeID() }
@c(ostiary_CFArrayGetTypeID)
func arrayTypeID() -> CFTypeID { CFArrayGetTypeID() }
@c(ostiary_CFDictionaryGetTypeID)
func dictionaryTypeID() -> CFTypeID { CFDictionaryGetTypeID() }
@c(ostiary_CFErrorGetTypeID)
func errorTypeID() -> CFTypeID { CFErrorGetTypeID() }
@c(ostiary_CFNullGetTypeID)
func nullTypeID() -> CFTypeID { CFNullGetTypeID() }
@c(SecAccessControlGetTypeID)
func accessControlTypeID() -> CFTypeID { SecAccessControlGetTypeID() }
@c(SecKeyGetTypeID)
func keyTypeID() -> CFTypeID { SecKeyGetTypeID() }
@c(SecCertificateGetTypeID)
func certificateTypeID() -> CFTypeID { SecCertificateGetTypeID() }
@c(SecIdentityGetTypeID)
func identityTypeID() -> CFTypeID { SecIdentityGetTypeID() }
@c(SecTaskGetTypeID)
func taskTypeID() -> CFTypeID { SecTaskGetTypeID() }
