public import Foundation

// The keys of ``SecPKCS12Import(_:_:_:)`` (Apple's SecImportExport.h). The strings are Apple's.

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

// Policies of trust, their properties, and the entries of a result (Apple's SecPolicy.h and SecTrust.h).

/// The policy of ``SecPolicyCreateBasicX509()``.
public var kSecPolicyAppleX509Basic: CFString { "1.2.840.113635.100.1.2" }
/// The policy of ``SecPolicyCreateSSL(_:_:)``.
public var kSecPolicyAppleSSL: CFString { "1.2.840.113635.100.1.3" }

/// Property: which policy it is, one of `kSecPolicyApple…`.
public var kSecPolicyOid: CFString { "SecPolicyOid" }
/// Property: the host that a server's certificate must be for.
public var kSecPolicyName: CFString { "SecPolicyName" }
/// Property: whether the certificate is a client's.
public var kSecPolicyClient: CFString { "SecPolicyClient" }

/// Result of an evaluation: ``SecTrustResultType`` as a number.
public var kSecTrustResultValue: CFString { "TrustResultValue" }
/// Result of an evaluation: the moment at which the certificates had to be valid.
public var kSecTrustEvaluationDate: CFString { "TrustEvaluationDate" }
