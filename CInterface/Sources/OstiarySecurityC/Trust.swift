import Foundation
public import Security

// What a trust is asked.

@c(SecTrustCreateWithCertificates)
public func createTrust(_ certificates: Handle?, _ policies: Handle?, _ trust: HandlePlace) -> OSStatus {
    copying(to: trust) { trust in
        guard let certificates = certificates.foundation, policies == nil || policies.foundation != nil else {
            return errSecParam
        }
        return SecTrustCreateWithCertificates(certificates, policies.foundation, trust)
    }
}

@c(SecTrustSetPolicies)
public func setPolicies(_ trust: Handle?, _ policies: Handle?) -> OSStatus {
    guard let trust = trust.object(SecTrust.self), let policies = policies.foundation else { return errSecParam }
    return SecTrustSetPolicies(trust, policies)
}

@c(SecTrustCopyPolicies)
public func copyPolicies(_ trust: Handle?, _ policies: HandlePlace) -> OSStatus {
    copyingArray(to: policies) { policies in
        trust.object(SecTrust.self).map { SecTrustCopyPolicies($0, policies) } ?? errSecParam
    }
}

@c(SecTrustSetAnchorCertificates)
public func setAnchors(_ trust: Handle?, _ anchors: Handle?) -> OSStatus {
    guard let trust = trust.object(SecTrust.self), anchors == nil || anchors.array != nil else { return errSecParam }
    return SecTrustSetAnchorCertificates(trust, anchors.array)
}

@c(SecTrustSetAnchorCertificatesOnly)
public func setAnchorsOnly(_ trust: Handle?, _ anchorsOnly: UInt8) -> OSStatus {
    trust.object(SecTrust.self).map { SecTrustSetAnchorCertificatesOnly($0, anchorsOnly != 0) } ?? errSecParam
}

@c(SecTrustCopyCustomAnchorCertificates)
public func copyCustomAnchors(_ trust: Handle?, _ anchors: HandlePlace) -> OSStatus {
    copyingArray(to: anchors) { anchors in
        trust.object(SecTrust.self).map { SecTrustCopyCustomAnchorCertificates($0, anchors) } ?? errSecParam
    }
}

@c(SecTrustCopyAnchorCertificates)
public func copySystemAnchors(_ anchors: HandlePlace) -> OSStatus {
    copyingArray(to: anchors) { SecTrustCopyAnchorCertificates($0) }
}

@c(SecTrustSetVerifyDate)
public func setVerifyDate(_ trust: Handle?, _ date: Handle?) -> OSStatus {
    guard let trust = trust.object(SecTrust.self), let date = date.object(NSDate.self) else { return errSecParam }
    return SecTrustSetVerifyDate(trust, date)
}

@c(SecTrustGetVerifyTime)
public func verifyTime(_ trust: Handle?) -> Double { trust.object(SecTrust.self).map(SecTrustGetVerifyTime) ?? 0 }

@c(SecTrustSetNetworkFetchAllowed)
public func setNetworkFetch(_ trust: Handle?, _ isAllowed: UInt8) -> OSStatus {
    trust.object(SecTrust.self).map { SecTrustSetNetworkFetchAllowed($0, isAllowed != 0) } ?? errSecParam
}

@c(SecTrustGetNetworkFetchAllowed)
public func networkFetch(_ trust: Handle?, _ isAllowed: UnsafeMutablePointer<UInt8>?) -> OSStatus {
    guard let trust = trust.object(SecTrust.self), let isAllowed else { return errSecParam }
    var value = false
    let status = SecTrustGetNetworkFetchAllowed(trust, &value)
    isAllowed.pointee = value ? 1 : 0
    return status
}

@c(SecTrustSetOCSPResponse)
public func setOCSPResponse(_ trust: Handle?, _ response: Handle?) -> OSStatus {
    trust.object(SecTrust.self).map { SecTrustSetOCSPResponse($0, response.foundation) } ?? errSecParam
}

@c(SecTrustSetSignedCertificateTimestamps)
public func setTimestamps(_ trust: Handle?, _ timestamps: Handle?) -> OSStatus {
    trust.object(SecTrust.self).map { SecTrustSetSignedCertificateTimestamps($0, timestamps.array) } ?? errSecParam
}

@c(SecTrustCopyExceptions)
public func copyExceptions(_ trust: Handle?) -> Handle? {
    Handle(owning: trust.object(SecTrust.self).flatMap(SecTrustCopyExceptions))
}

@c(SecTrustSetExceptions)
public func setExceptions(_ trust: Handle?, _ exceptions: Handle?) -> UInt8 {
    guard let trust = trust.object(SecTrust.self), exceptions == nil || exceptions.object(NSData.self) != nil else {
        return 0
    }
    return SecTrustSetExceptions(trust, exceptions.object(NSData.self)) ? 1 : 0
}

/// Puts the array that `call` copies into `place`, NULL when it fails; `errSecParam` if there is no place.
private func copyingArray(
    to place: HandlePlace, _ call: (UnsafeMutablePointer<CFArray?>) -> OSStatus
) -> OSStatus {
    place?.pointee = nil
    guard let place else { return errSecParam }
    var array: CFArray?
    let status = call(&array)
    place.pointee = Handle(owning: array?.forC)
    return status
}
