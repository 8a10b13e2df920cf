import CertificateChains
public import Foundation

// What a trust is asked (Apple's SecTrust.h).

extension SecTrust.Question {
    /// More certificates than a chain and its alternatives have; it bounds the work of one call.
    static let maximumCertificateCount = 100
}

/// Makes a question about a certificate.
///
/// - Parameters:
///   - certificates: a ``SecCertificate``, or an array: the certificate that is asked about comes first, those that may stand
///     above it follow in any order. At most 100.
///   - policies: a ``SecPolicy``, or an array of those that all must be satisfied; nil for the one of
///     ``SecPolicyCreateBasicX509()``.
///   - trust: gets the question.
/// - Returns: `errSecSuccess`; `errSecParam` for anything else, and nil in `trust`.
@discardableResult
public func SecTrustCreateWithCertificates(
    _ certificates: CFTypeRef, _ policies: CFTypeRef?, _ trust: UnsafeMutablePointer<SecTrust?>
) -> OSStatus {
    unsafe trust.pointee = nil
    guard let certificates = objects(certificates, of: SecCertificate.self),
        certificates.count <= SecTrust.Question.maximumCertificateCount,
        let policies = policies.map({ objects($0, of: SecPolicy.self) }) ?? [SecPolicyCreateBasicX509()]
    else { return errSecParam }
    unsafe trust.pointee = SecTrust(SecTrust.Question(certificates: certificates, policies: policies))
    return errSecSuccess
}

/// Replaces the policies: a ``SecPolicy``, or an array of those that all must be satisfied. `errSecParam` for anything else.
@discardableResult
public func SecTrustSetPolicies(_ trust: SecTrust, _ policies: CFTypeRef) -> OSStatus {
    guard let policies = objects(policies, of: SecPolicy.self) else { return errSecParam }
    trust.change { $0.policies = policies }
    return errSecSuccess
}

/// The policies, in `policies`.
@discardableResult
public func SecTrustCopyPolicies(_ trust: SecTrust, _ policies: UnsafeMutablePointer<CFArray?>) -> OSStatus {
    unsafe policies.pointee = NSArray(array: trust.question.policies)
    return errSecSuccess
}

/// Names certificates that are trusted, whatever issued them. They replace those of the system until
/// ``SecTrustSetAnchorCertificatesOnly(_:_:)`` says otherwise; nil takes them back. `errSecParam` for an array with anything but
/// certificates.
@discardableResult
public func SecTrustSetAnchorCertificates(_ trust: SecTrust, _ anchorCertificates: CFArray?) -> OSStatus {
    guard let anchorCertificates else {
        trust.change { ($0.anchors, $0.leavesOutSystem) = (nil, nil) }
        return errSecSuccess
    }
    let anchors = anchorCertificates.compactMap { $0 as? SecCertificate }
    guard anchors.count == anchorCertificates.count, anchors.count <= SecTrust.Question.maximumCertificateCount
    else { return errSecParam }
    trust.change { ($0.anchors, $0.leavesOutSystem) = (anchors, nil) }
    return errSecSuccess
}

/// Whether only the anchors of ``SecTrustSetAnchorCertificates(_:_:)`` count; false for those of the system too.
@discardableResult
public func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust, _ anchorCertificatesOnly: Bool) -> OSStatus {
    trust.change { $0.leavesOutSystem = anchorCertificatesOnly }
    return errSecSuccess
}

/// The anchors of ``SecTrustSetAnchorCertificates(_:_:)``, in `anchors`; nil for none.
@discardableResult
public func SecTrustCopyCustomAnchorCertificates(
    _ trust: SecTrust, _ anchors: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    unsafe anchors.pointee = trust.question.anchors.map { NSArray(array: $0) }
    return errSecSuccess
}

/// The anchors of the system, in `anchors`; `errSecTrustNotAvailable`, and nil, if they cannot be read.
@discardableResult
public func SecTrustCopyAnchorCertificates(_ anchors: UnsafeMutablePointer<CFArray?>) -> OSStatus {
    do {
        let certificates = try SystemAnchors.load().der.map { bytes in try SecCertificate(bytes) }
        unsafe anchors.pointee = NSArray(array: certificates)
        return errSecSuccess
    } catch {
        unsafe anchors.pointee = nil
        return (error as? StatusError)?.status ?? errSecInternalComponent
    }
}

/// The moment at which the certificates must be valid; without it the one of the evaluation.
@discardableResult
public func SecTrustSetVerifyDate(_ trust: SecTrust, _ verifyDate: CFDate) -> OSStatus {
    guard verifyDate.timeIntervalSinceReferenceDate.isFinite else { return errSecParam }
    trust.change { $0.date = verifyDate as Date }
    return errSecSuccess
}

/// The moment at which the certificates must be valid.
@discardableResult
public func SecTrustGetVerifyTime(_ trust: SecTrust) -> CFAbsoluteTime {
    (trust.question.date ?? trust.knownAnswer?.date ?? Date()).timeIntervalSinceReferenceDate
}

/// Remembers whether certificates may be fetched. Without effect: nothing is ever fetched here.
@discardableResult
public func SecTrustSetNetworkFetchAllowed(_ trust: SecTrust, _ allowFetch: Bool) -> OSStatus {
    trust.change { $0.isNetworkAllowed = allowFetch }
    return errSecSuccess
}

/// What ``SecTrustSetNetworkFetchAllowed(_:_:)`` said, in `allowFetch`; true before.
@discardableResult
public func SecTrustGetNetworkFetchAllowed(_ trust: SecTrust, _ allowFetch: UnsafeMutablePointer<Bool>) -> OSStatus {
    unsafe allowFetch.pointee = trust.question.isNetworkAllowed
    return errSecSuccess
}

/// `errSecUnimplemented`: revocation is not looked at, so an answer about it would not count.
@discardableResult
public func SecTrustSetOCSPResponse(_ trust: SecTrust, _ responseData: CFTypeRef?) -> OSStatus { errSecUnimplemented }

/// `errSecUnimplemented`: the logs of certificates are not looked at.
@discardableResult
public func SecTrustSetSignedCertificateTimestamps(_ trust: SecTrust, _ sctArray: CFArray?) -> OSStatus {
    errSecUnimplemented
}

/// Nil: no failure is passed over here.
@discardableResult
public func SecTrustCopyExceptions(_ trust: SecTrust) -> CFData? { nil }

/// Passes over no failure: true for nil, false for anything else.
@discardableResult
public func SecTrustSetExceptions(_ trust: SecTrust, _ exceptions: CFData?) -> Bool { exceptions == nil }

/// One object or an array of them; nil for no object and for anything else.
private func objects<Object: NSObject>(_ value: CFTypeRef, of type: Object.Type) -> [Object]? {
    if let object = value as? Object { return [object] }
    guard let array = value as? NSArray, array.count > 0 else { return nil }
    let objects = array.compactMap { $0 as? Object }
    return objects.count == array.count ? objects : nil
}
