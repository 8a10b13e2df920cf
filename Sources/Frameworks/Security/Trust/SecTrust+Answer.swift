public import Dispatch
public import Foundation

// What came of the question.

/// Whether the certificate is trusted.
///
/// - Parameter error: gets the reason why it is not: an error of `NSOSStatusErrorDomain`.
@discardableResult
public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?) -> Bool {
    let failure = trust.answer().failure
    if let error = unsafe error { unsafe error.pointee = failure?.error }
    return failure == nil
}

/// The same on a queue, which then calls `result`.
@discardableResult
public func SecTrustEvaluateAsyncWithError(
    _ trust: SecTrust, _ queue: DispatchQueue, _ result: @escaping @Sendable (SecTrust, Bool, CFError?) -> Void
) -> OSStatus {
    queue.async {
        let failure = trust.answer().failure
        result(trust, failure == nil, failure?.error)
    }
    return errSecSuccess
}

/// The older form of ``SecTrustEvaluateWithError(_:_:)``: `errSecSuccess`, and in `result` whether the certificate is trusted.
@discardableResult
public func SecTrustEvaluate(_ trust: SecTrust, _ result: UnsafeMutablePointer<SecTrustResultType>) -> OSStatus {
    unsafe result.pointee = trust.answer().result
    return errSecSuccess
}

/// The older form of ``SecTrustEvaluateAsyncWithError(_:_:_:)``.
@discardableResult
public func SecTrustEvaluateAsync(
    _ trust: SecTrust, _ queue: DispatchQueue?, _ result: @escaping @Sendable (SecTrust, SecTrustResultType) -> Void
) -> OSStatus {
    (queue ?? .main).async { result(trust, trust.answer().result) }
    return errSecSuccess
}

/// What the last evaluation found, in `result`; ``SecTrustResultType/invalid`` before one, and after something was set.
@discardableResult
public func SecTrustGetTrustResult(
    _ trust: SecTrust, _ result: UnsafeMutablePointer<SecTrustResultType>
) -> OSStatus {
    unsafe result.pointee = trust.knownAnswer?.result ?? .invalid
    return errSecSuccess
}

/// What the last evaluation found, as a dictionary of the keys `kSecTrust…`; nil before one.
@discardableResult
public func SecTrustCopyResult(_ trust: SecTrust) -> CFDictionary? {
    guard let answer = trust.knownAnswer else { return nil }
    let result: [CFString: Any] = [
        kSecTrustResultValue: NSNumber(value: answer.result.rawValue), kSecTrustEvaluationDate: answer.date,
    ]
    return result as CFDictionary
}

/// The public key of the certificate, whether it is trusted or not; nil if it is of a kind that has no ``SecKey`` here.
@discardableResult
public func SecTrustCopyKey(_ trust: SecTrust) -> SecKey? {
    trust.question.certificates.first.flatMap(SecCertificateCopyKey)
}

/// The older name of ``SecTrustCopyKey(_:)``.
@discardableResult
public func SecTrustCopyPublicKey(_ trust: SecTrust) -> SecKey? { SecTrustCopyKey(trust) }

/// The certificates from the one that is asked about up to an anchor; as far as they were found if it is not trusted. Evaluates
/// the trust if that was not done.
@discardableResult
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? { NSArray(array: trust.answer().chain) }

/// How many certificates ``SecTrustCopyCertificateChain(_:)`` has.
@discardableResult
public func SecTrustGetCertificateCount(_ trust: SecTrust) -> CFIndex { trust.answer().chain.count }

/// One of the certificates of ``SecTrustCopyCertificateChain(_:)``; nil beyond it.
@discardableResult
public func SecTrustGetCertificateAtIndex(_ trust: SecTrust, _ ix: CFIndex) -> SecCertificate? {
    let chain = trust.answer().chain
    return chain.indices.contains(ix) ? chain[ix] : nil
}

/// The type id of ``SecTrust``, for comparison with ``CFGetTypeID(_:)``.
@discardableResult
public func SecTrustGetTypeID() -> CFTypeID { TypeID.trust.rawValue }

extension SecTrust.Answer {
    fileprivate var result: SecTrustResultType { failure?.result ?? .unspecified }
}
