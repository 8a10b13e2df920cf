// Values of attributes of keychain items (Apple's SecItem.h). The strings are Apple's.
public import Foundation

// MARK: Accessibility: when the item can be read

/// While unlocked.
public var kSecAttrAccessibleWhenUnlocked: CFString { "ak" }
/// From the first unlock after a start on.
public var kSecAttrAccessibleAfterFirstUnlock: CFString { "ck" }
/// Always. Deprecated by Apple.
public var kSecAttrAccessibleAlways: CFString { "dk" }
/// While unlocked, on this machine only.
public var kSecAttrAccessibleWhenUnlockedThisDeviceOnly: CFString { "aku" }
/// From the first unlock after a start on, on this machine only.
public var kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString { "cku" }
/// Always, on this machine only. Deprecated by Apple.
public var kSecAttrAccessibleAlwaysThisDeviceOnly: CFString { "dku" }
/// While unlocked and as long as a passcode is set, on this machine only.
public var kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly: CFString { "akpu" }
/// Until the machine restarts.
package var kSecAttrAccessibleUntilReboot: CFString { "f" }

// MARK: Key classes

/// The public half of a pair.
public var kSecAttrKeyClassPublic: CFString { "0" }
/// The private half of a pair.
public var kSecAttrKeyClassPrivate: CFString { "1" }
/// A symmetric key.
public var kSecAttrKeyClassSymmetric: CFString { "2" }

// MARK: Key types

/// RSA.
public var kSecAttrKeyTypeRSA: CFString { "42" }
/// The older name of ``kSecAttrKeyTypeECSECPrimeRandom``.
public var kSecAttrKeyTypeEC: CFString { "73" }
/// Elliptic curves of NIST.
public var kSecAttrKeyTypeECSECPrimeRandom: CFString { "73" }
package var kSecAttrKeyTypeEd25519: CFString { "105" }
package var kSecAttrKeyTypeX25519: CFString { "106" }

// MARK: Tokens, groups and halves of a pair

/// The enclave of this machine.
public var kSecAttrTokenIDSecureEnclave: CFString { "com.apple.setoken" }
/// The group of items of tokens: readable, never written.
public var kSecAttrAccessGroupToken: CFString { "com.apple.token" }
/// When creating a pair: attributes of the private half.
public var kSecPrivateKeyAttrs: CFString { "private" }
/// When creating a pair: attributes of the public half.
public var kSecPublicKeyAttrs: CFString { "public" }

// MARK: Protocols of internet passwords

public var kSecAttrProtocolFTP: CFString { "ftp " }
public var kSecAttrProtocolFTPAccount: CFString { "ftpa" }
public var kSecAttrProtocolHTTP: CFString { "http" }
public var kSecAttrProtocolIRC: CFString { "irc " }
public var kSecAttrProtocolNNTP: CFString { "nntp" }
public var kSecAttrProtocolPOP3: CFString { "pop3" }
public var kSecAttrProtocolSMTP: CFString { "smtp" }
public var kSecAttrProtocolSOCKS: CFString { "sox " }
public var kSecAttrProtocolIMAP: CFString { "imap" }
public var kSecAttrProtocolLDAP: CFString { "ldap" }
public var kSecAttrProtocolAppleTalk: CFString { "atlk" }
public var kSecAttrProtocolAFP: CFString { "afp " }
public var kSecAttrProtocolTelnet: CFString { "teln" }
public var kSecAttrProtocolSSH: CFString { "ssh " }
public var kSecAttrProtocolFTPS: CFString { "ftps" }
public var kSecAttrProtocolHTTPS: CFString { "htps" }
public var kSecAttrProtocolHTTPProxy: CFString { "htpx" }
public var kSecAttrProtocolHTTPSProxy: CFString { "htsx" }
public var kSecAttrProtocolFTPProxy: CFString { "ftpx" }
public var kSecAttrProtocolSMB: CFString { "smb " }
public var kSecAttrProtocolRTSP: CFString { "rtsp" }
public var kSecAttrProtocolRTSPProxy: CFString { "rtsx" }
public var kSecAttrProtocolDAAP: CFString { "daap" }
public var kSecAttrProtocolEPPC: CFString { "eppc" }
public var kSecAttrProtocolIPP: CFString { "ipp " }
public var kSecAttrProtocolNNTPS: CFString { "ntps" }
public var kSecAttrProtocolLDAPS: CFString { "ldps" }
public var kSecAttrProtocolTelnetS: CFString { "tels" }
public var kSecAttrProtocolIMAPS: CFString { "imps" }
public var kSecAttrProtocolIRCS: CFString { "ircs" }
public var kSecAttrProtocolPOP3S: CFString { "pops" }

// MARK: Authentication types of internet passwords

public var kSecAttrAuthenticationTypeNTLM: CFString { "ntlm" }
public var kSecAttrAuthenticationTypeMSN: CFString { "msna" }
public var kSecAttrAuthenticationTypeDPA: CFString { "dpaa" }
public var kSecAttrAuthenticationTypeRPA: CFString { "rpaa" }
public var kSecAttrAuthenticationTypeHTTPBasic: CFString { "http" }
public var kSecAttrAuthenticationTypeHTTPDigest: CFString { "httd" }
public var kSecAttrAuthenticationTypeHTMLForm: CFString { "form" }
public var kSecAttrAuthenticationTypeDefault: CFString { "dflt" }
