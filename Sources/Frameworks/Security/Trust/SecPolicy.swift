import CertificateChains
public import Foundation

/// What a certificate is trusted for (Apple's `SecPolicy`). Equal to another one of the same kind for the same host.
public final class SecPolicy: NSObject, Sendable {
    let policy: ChainPolicy

    init(_ policy: ChainPolicy) {
        self.policy = policy
        super.init()
    }

    public override func isEqual(_ object: Any?) -> Bool { (object as? SecPolicy)?.policy == policy }

    public override var hash: Int { String(describing: policy).hashValue }

    /// `<SecPolicyRef: 1.2.840.113635.100.1.3>`.
    public override var description: String { "<SecPolicyRef: \(oid)>" }

    fileprivate var oid: CFString {
        switch policy {
        case .basic: kSecPolicyAppleX509Basic
        case .server, .client: kSecPolicyAppleSSL
        }
    }

    fileprivate var properties: [CFString: Any] {
        var properties: [CFString: Any] = [kSecPolicyOid: oid]
        switch policy {
        case .basic: break
        case .server(let host): properties[kSecPolicyName] = host
        case .client: properties[kSecPolicyClient] = true
        }
        return properties
    }
}

/// The rules of X.509 alone: a chain to an anchor, dates, path lengths, name constraints and critical extensions.
@discardableResult
public func SecPolicyCreateBasicX509() -> SecPolicy { SecPolicy(.basic) }

/// The rules for TLS.
///
/// - Parameters:
///   - server: true for the certificate of a server, false for that of a client.
///   - hostname: a name, or an address in digits, that a server's certificate must be for; nil for any. For clients it has no
///     effect.
@discardableResult
public func SecPolicyCreateSSL(_ server: Bool, _ hostname: CFString?) -> SecPolicy {
    SecPolicy(server ? .server(host: hostname.map { $0 as String }) : .client)
}

/// A policy by its OID, with the properties `kSecPolicyName` and `kSecPolicyClient`; nil for a policy or a property that does
/// not exist here. Not leaving out a property keeps a policy from being weaker than was asked for.
@discardableResult
public func SecPolicyCreateWithProperties(_ policyIdentifier: CFTypeRef, _ properties: CFDictionary?) -> SecPolicy? {
    let given = properties as? [String: Any] ?? [:]
    let (nameKey, clientKey) = (kSecPolicyName as String, kSecPolicyClient as String)
    guard given.count == properties?.count ?? 0, Set(given.keys).isSubset(of: [nameKey, clientKey]) else { return nil }
    let oid = policyIdentifier as? String
    if oid == kSecPolicyAppleX509Basic as String { return given.isEmpty ? SecPolicyCreateBasicX509() : nil }
    guard oid == kSecPolicyAppleSSL as String else { return nil }
    let (name, isClient) = (given[nameKey] as? String, given[clientKey] as? Bool)
    guard (name == nil) == (given[nameKey] == nil), (isClient == nil) == (given[clientKey] == nil) else { return nil }
    return SecPolicyCreateSSL(isClient != true, name.map { $0 as CFString })
}

/// The policy as properties: `kSecPolicyOid`, and what ``SecPolicyCreateSSL(_:_:)`` was given.
@discardableResult
public func SecPolicyCopyProperties(_ policyRef: SecPolicy) -> CFDictionary? {
    policyRef.properties as CFDictionary
}

/// Nil: nothing here asks anybody whether a certificate was revoked, and a policy that checked nothing would look like one that
/// does.
@discardableResult
public func SecPolicyCreateRevocation(_ revocationFlags: CFOptionFlags) -> SecPolicy? { nil }

/// The type id of ``SecPolicy``, for comparison with ``CFGetTypeID(_:)``.
@discardableResult
public func SecPolicyGetTypeID() -> CFTypeID { TypeID.policy.rawValue }
