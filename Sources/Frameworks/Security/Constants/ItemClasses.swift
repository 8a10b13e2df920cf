// The classes of keychain items (Apple's SecItem.h, section `kSecClass`). The strings are Apple's.
public import Foundation

/// The key whose value is the class of the item.
public var kSecClass: CFString { "class" }
/// A password of a service.
public var kSecClassGenericPassword: CFString { "genp" }
/// A password of a server.
public var kSecClassInternetPassword: CFString { "inet" }
/// A cryptographic key.
public var kSecClassKey: CFString { "keys" }
/// A certificate.
public var kSecClassCertificate: CFString { "cert" }
/// A certificate joined with its private key; not stored by itself.
public var kSecClassIdentity: CFString { "idnt" }
/// Apple's file sharing of long ago; no store here holds such items.
public var kSecClassAppleSharePassword: CFString { "apls" }
