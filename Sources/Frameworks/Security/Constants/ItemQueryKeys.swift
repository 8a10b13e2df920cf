public import Foundation

// The classes of keychain items (Apple's SecItem.h, section `kSecClass`). The strings are Apple's.

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

// Keys of a query that are no attributes (Apple's SecItem.h). The strings are Apple's.

// MARK: Match

/// How many items: ``kSecMatchLimitOne``, ``kSecMatchLimitAll`` or a number.
public var kSecMatchLimit: CFString { "m_Limit" }
/// The first item.
public var kSecMatchLimitOne: CFString { "m_LimitOne" }
/// Every item, in the order in which they were added.
public var kSecMatchLimitAll: CFString { "m_LimitAll" }
public var kSecMatchPolicy: CFString { "m_Policy" }
public var kSecMatchIssuers: CFString { "m_Issuers" }
public var kSecMatchEmailAddressIfPresent: CFString { "m_EmailAddressIfPresent" }
public var kSecMatchSubjectContains: CFString { "m_SubjectContains" }
/// Internet passwords of this host and of hosts below it.
public var kSecMatchHostOrSubdomainOfHost: CFString { "m_HostOrSubdomainOfHost" }
public var kSecMatchCaseInsensitive: CFString { "m_CaseInsensitive" }
public var kSecMatchTrustedOnly: CFString { "m_TrustedOnly" }
public var kSecMatchValidOnDate: CFString { "m_ValidOnDate" }
/// A key of Apple's file keychain.
public var kSecMatchItemList: CFString { "m_ItemList" }
/// A key of Apple's file keychain.
public var kSecMatchSearchList: CFString { "m_SearchList" }
/// A key of Apple's file keychain.
public var kSecMatchSubjectStartsWith: CFString { "m_SubjectStartsWith" }
/// A key of Apple's file keychain.
public var kSecMatchSubjectEndsWith: CFString { "m_SubjectEndsWith" }
/// A key of Apple's file keychain.
public var kSecMatchSubjectWholeString: CFString { "m_SubjectWholeString" }
/// A key of Apple's file keychain.
public var kSecMatchDiacriticInsensitive: CFString { "m_DiacriticInsensitive" }
/// A key of Apple's file keychain.
public var kSecMatchWidthInsensitive: CFString { "m_WidthInsensitive" }

// MARK: Return

/// Whether to return the secret bytes.
public var kSecReturnData: CFString { "r_Data" }
/// Whether to return the attributes.
public var kSecReturnAttributes: CFString { "r_Attributes" }
/// Whether to return a ``SecKey``, ``SecCertificate`` or ``SecIdentity``.
public var kSecReturnRef: CFString { "r_Ref" }
/// Whether to return a reference that can be stored.
public var kSecReturnPersistentRef: CFString { "r_PersistentRef" }

// MARK: Value

/// The secret bytes.
public var kSecValueData: CFString { "v_Data" }
/// A ``SecKey``, ``SecCertificate`` or ``SecIdentity``.
public var kSecValueRef: CFString { "v_Ref" }
/// A reference that was returned for ``kSecReturnPersistentRef``.
public var kSecValuePersistentRef: CFString { "v_PersistentRef" }

// MARK: Use

/// A key of Apple's file keychain.
public var kSecUseItemList: CFString { "u_ItemList" }
/// A key of Apple's file keychain.
public var kSecUseKeychain: CFString { "u_Keychain" }
/// Why the person is asked. Deprecated by Apple; see `LAContext.localizedReason`.
public var kSecUseOperationPrompt: CFString { "u_OpPrompt" }
/// Whether nobody may be asked. Deprecated by Apple.
public var kSecUseNoAuthenticationUI: CFString { "u_NoAuthUI" }
/// Whether somebody may be asked; one of the three below.
public var kSecUseAuthenticationUI: CFString { "u_AuthUI" }
/// The person may be asked.
public var kSecUseAuthenticationUIAllow: CFString { "u_AuthUIA" }
/// The call fails with ``errSecInteractionNotAllowed`` where the person would be asked.
public var kSecUseAuthenticationUIFail: CFString { "u_AuthUIF" }
/// Items that the person would be asked about are left out.
public var kSecUseAuthenticationUISkip: CFString { "u_AuthUIS" }
/// An `LAContext`.
public var kSecUseAuthenticationContext: CFString { "u_AuthCtx" }
/// Accepted and ignored: there is no other keychain here.
public var kSecUseDataProtectionKeychain: CFString { "nleg" }
public var kSecUseUserIndependentKeychain: CFString { "u_UserIndependentKeychain" }
