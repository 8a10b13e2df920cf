import Foundation
public import Security

@c(SecPolicyCreateBasicX509)
public func createBasicPolicy() -> Handle? { Handle(owning: SecPolicyCreateBasicX509()) }

@c(SecPolicyCreateSSL)
public func createTLSPolicy(_ server: UInt8, _ hostname: Handle?) -> Handle? {
    // A host of a wrong kind is none that a certificate could be for; without one any certificate would do.
    guard hostname == nil || hostname.object(NSString.self) != nil else { return nil }
    return Handle(owning: SecPolicyCreateSSL(server != 0, hostname.object(NSString.self)))
}

@c(SecPolicyCreateWithProperties)
public func createPolicy(_ identifier: Handle?, _ properties: Handle?) -> Handle? {
    guard let identifier = identifier.object(NSString.self) else { return nil }
    guard properties != nil else { return Handle(owning: SecPolicyCreateWithProperties(identifier, nil)) }
    return properties.dictionary.flatMap { Handle(owning: SecPolicyCreateWithProperties(identifier, $0)) }
}

@c(SecPolicyCopyProperties)
public func copyPolicyProperties(_ policy: Handle?) -> Handle? {
    Handle(owning: policy.object(SecPolicy.self).flatMap(SecPolicyCopyProperties)?.forC)
}

@c(SecPolicyCreateRevocation)
public func createRevocationPolicy(_ flags: CFOptionFlags) -> Handle? {
    Handle(owning: SecPolicyCreateRevocation(flags))
}
