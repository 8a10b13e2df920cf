// Attributes of keychain items (Apple's SecItem.h). The strings are Apple's: programs write and compare them.
public import Foundation

// MARK: Of every class

/// In which states of the machine the item can be read; one of `kSecAttrAccessible…`.
public var kSecAttrAccessible: CFString { "pdmn" }
/// A ``SecAccessControl``, instead of ``kSecAttrAccessible``.
public var kSecAttrAccessControl: CFString { "accc" }
/// The group of programs that sees the item.
public var kSecAttrAccessGroup: CFString { "agrp" }
/// Whether the item is one of those that a cloud keychain would carry; in a search also ``kSecAttrSynchronizableAny``.
public var kSecAttrSynchronizable: CFString { "sync" }
/// Value of ``kSecAttrSynchronizable`` in a search: both kinds.
public var kSecAttrSynchronizableAny: CFString { "syna" }
/// When the item was added; set by the store.
public var kSecAttrCreationDate: CFString { "cdat" }
/// When the item was changed last; set by the store.
public var kSecAttrModificationDate: CFString { "mdat" }
/// The name that a person reads.
public var kSecAttrLabel: CFString { "labl" }
/// Another name.
package var kSecAttrAlias: CFString { "alis" }
/// The token that holds the key, such as ``kSecAttrTokenIDSecureEnclave``.
public var kSecAttrTokenID: CFString { "tkid" }
/// Apple's first spelling of ``kSecAttrPersistentReference``.
public var kSecAttrPersistantReference: CFString { "persistref" }
/// The name of the persistent reference among Apple's attributes. It is never part of a result, and a query with it is
/// refused (`errSecParam`): use ``kSecReturnPersistentRef`` and ``kSecValuePersistentRef``.
public var kSecAttrPersistentReference: CFString { "persistref" }
/// Never part of a result.
package var kSecAttrUUID: CFString { "UUID" }
/// Which part of a cloud keychain the item would belong to; a text that tells items apart.
public var kSecAttrSyncViewHint: CFString { "vwht" }

// MARK: Of passwords

/// The account that the password is for.
public var kSecAttrAccount: CFString { "acct" }
/// The service of a generic password.
public var kSecAttrService: CFString { "svce" }
/// Bytes of the program's own, on a generic password.
public var kSecAttrGeneric: CFString { "gena" }
/// The realm of an internet password.
public var kSecAttrSecurityDomain: CFString { "sdmn" }
/// The host name of an internet password.
public var kSecAttrServer: CFString { "srvr" }
/// The protocol of an internet password, one of `kSecAttrProtocol…`.
public var kSecAttrProtocol: CFString { "ptcl" }
/// How the server authenticates, one of `kSecAttrAuthenticationType…`.
public var kSecAttrAuthenticationType: CFString { "atyp" }
/// The port of an internet password.
public var kSecAttrPort: CFString { "port" }
/// The path of an internet password.
public var kSecAttrPath: CFString { "path" }
/// The kind of item, for a person.
public var kSecAttrDescription: CFString { "desc" }
/// A comment, for a person.
public var kSecAttrComment: CFString { "icmt" }
/// The program that made the item: four characters as a number.
public var kSecAttrCreator: CFString { "crtr" }
/// The program's own type of the item: four characters as a number.
public var kSecAttrType: CFString { "type" }
/// The encoding of old text data.
public var kSecAttrScriptCode: CFString { "scrp" }
/// Whether lists should leave the item out.
public var kSecAttrIsInvisible: CFString { "invi" }
/// Whether the item says that no password shall be kept.
public var kSecAttrIsNegative: CFString { "nega" }
/// Whether the item has an icon of its own.
public var kSecAttrHasCustomIcon: CFString { "cusi" }

// MARK: Of keys

/// Public, private or symmetric; one of `kSecAttrKeyClass…`.
public var kSecAttrKeyClass: CFString { "kcls" }
/// SHA-1 of the public key: the same for both halves.
public var kSecAttrApplicationLabel: CFString { "klbl" }
/// The program's own name for the key.
public var kSecAttrApplicationTag: CFString { "atag" }
/// One of `kSecAttrKeyType…`.
public var kSecAttrKeyType: CFString { "type" }
/// The program that made the key: four characters as a number.
public var kSecAttrKeyCreator: CFString { "crtr" }
/// The size of the key.
public var kSecAttrKeySizeInBits: CFString { "bsiz" }
/// The size of the key without bits of parity and the like.
public var kSecAttrEffectiveKeySize: CFString { "esiz" }
/// From when on the key may be used.
public var kSecAttrStartDate: CFString { "sdat" }
/// Until when the key may be used.
public var kSecAttrEndDate: CFString { "edat" }
/// Whether the key is in the keychain; when creating a key, whether to put it there.
public var kSecAttrIsPermanent: CFString { "perm" }
package var kSecAttrIsPrivate: CFString { "priv" }
package var kSecAttrIsModifiable: CFString { "modi" }
/// Whether the key leaves only encrypted.
public var kSecAttrIsSensitive: CFString { "sens" }
package var kSecAttrWasAlwaysSensitive: CFString { "asen" }
/// Whether the key leaves at all.
public var kSecAttrIsExtractable: CFString { "extr" }
package var kSecAttrWasNeverExtractable: CFString { "next" }
public var kSecAttrCanEncrypt: CFString { "encr" }
public var kSecAttrCanDecrypt: CFString { "decr" }
public var kSecAttrCanDerive: CFString { "drve" }
public var kSecAttrCanSign: CFString { "sign" }
public var kSecAttrCanVerify: CFString { "vrfy" }
package var kSecAttrCanSignRecover: CFString { "snrc" }
package var kSecAttrCanVerifyRecover: CFString { "vyrc" }
public var kSecAttrCanWrap: CFString { "wrap" }
public var kSecAttrCanUnwrap: CFString { "unwp" }
/// An opaque handle of a key that a token holds.
package var kSecAttrTokenOID: CFString { "toid" }

// MARK: Of certificates

public var kSecAttrCertificateType: CFString { "ctyp" }
public var kSecAttrCertificateEncoding: CFString { "cenc" }
/// The subject, DER.
public var kSecAttrSubject: CFString { "subj" }
/// The issuer, DER.
public var kSecAttrIssuer: CFString { "issr" }
/// The serial number, big-endian.
public var kSecAttrSerialNumber: CFString { "slnr" }
/// The subject key identifier.
public var kSecAttrSubjectKeyID: CFString { "skid" }
/// SHA-1 of the public key; the ``kSecAttrApplicationLabel`` of the key that belongs to it.
public var kSecAttrPublicKeyHash: CFString { "pkhh" }

// MARK: Of Apple's file keychain, without meaning here

public var kSecAttrAccess: CFString { "acls" }
public var kSecAttrPRF: CFString { "prf" }
public var kSecAttrSalt: CFString { "salt" }
public var kSecAttrRounds: CFString { "rounds" }
public var kSecAttrVolume: CFString { "volm" }
public var kSecAttrAddress: CFString { "addr" }
