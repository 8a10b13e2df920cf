// Policies of trust, their properties, and the entries of a result (Apple's SecPolicy.h and SecTrust.h).
public import Foundation

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
