// The keys of ``SecPKCS12Import(_:_:_:)`` (Apple's SecImportExport.h). The strings are Apple's.
public import Foundation

// MARK: options

/// The passphrase of the file: text.
public var kSecImportExportPassphrase: CFString { "passphrase" }
/// True: nothing is stored, whatever the other options say.
public var kSecImportToMemoryOnly: CFString { "memory" }
/// Of Apple's file keychain.
public var kSecImportExportKeychain: CFString { "keychain" }
/// Of Apple's file keychain.
public var kSecImportExportAccess: CFString { "access" }

// MARK: results

/// A name for a person: the one that the file gives, else the summary of the certificate's subject.
public var kSecImportItemLabel: CFString { "label" }
/// SHA-1 of the public key, as ``kSecAttrApplicationLabel`` of the private one has it.
public var kSecImportItemKeyID: CFString { "keyid" }
/// The ``SecTrust`` of the certificate, evaluated with the policy of ``SecPolicyCreateBasicX509()``. It may say no.
public var kSecImportItemTrust: CFString { "trust" }
/// The certificate, then those above it that are in the file.
public var kSecImportItemCertChain: CFString { "chain" }
/// The ``SecIdentity``.
public var kSecImportItemIdentity: CFString { "identity" }
