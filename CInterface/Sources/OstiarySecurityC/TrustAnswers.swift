import Foundation
public import Security

// What came of the question.

@c(SecTrustEvaluateWithError)
public func evaluate(_ trust: Handle?, _ error: HandlePlace) -> UInt8 {
    error?.pointee = nil
    var failure: CFError?
    if let trust = trust.object(SecTrust.self) {
        if SecTrustEvaluateWithError(trust, &failure) { return 1 }
    } else {
        failure = UnusableArgument().forFoundation
    }
    error?.pointee = Handle(owning: failure?.forC)
    return 0
}

@c(SecTrustEvaluate)
public func evaluateForResult(_ trust: Handle?, _ result: UnsafeMutablePointer<UInt32>?) -> OSStatus {
    answering(trust, result) { SecTrustEvaluate($0, $1) }
}

@c(SecTrustGetTrustResult)
public func trustResult(_ trust: Handle?, _ result: UnsafeMutablePointer<UInt32>?) -> OSStatus {
    answering(trust, result) { SecTrustGetTrustResult($0, $1) }
}

private func answering(
    _ trust: Handle?, _ result: UnsafeMutablePointer<UInt32>?,
    _ call: (SecTrust, UnsafeMutablePointer<SecTrustResultType>) -> OSStatus
) -> OSStatus {
    result?.pointee = SecTrustResultType.invalid.rawValue
    guard let trust = trust.object(SecTrust.self), let result else { return errSecParam }
    var found = SecTrustResultType.invalid
    let status = call(trust, &found)
    result.pointee = found.rawValue
    return status
}

@c(SecTrustCopyResult)
public func copyTrustResult(_ trust: Handle?) -> Handle? {
    Handle(owning: trust.object(SecTrust.self).flatMap(SecTrustCopyResult)?.forC)
}

@c(SecTrustCopyKey)
public func copyTrustKey(_ trust: Handle?) -> Handle? {
    Handle(owning: trust.object(SecTrust.self).flatMap(SecTrustCopyKey))
}

@c(SecTrustCopyPublicKey)
public func copyTrustPublicKey(_ trust: Handle?) -> Handle? { copyTrustKey(trust) }

@c(SecTrustCopyCertificateChain)
public func copyCertificateChain(_ trust: Handle?) -> Handle? {
    Handle(owning: trust.object(SecTrust.self).flatMap(SecTrustCopyCertificateChain)?.forC)
}

@c(SecTrustGetCertificateCount)
public func certificateCount(_ trust: Handle?) -> Int {
    trust.object(SecTrust.self).map(SecTrustGetCertificateCount) ?? 0
}

@c(SecTrustGetCertificateAtIndex)
public func certificate(_ trust: Handle?, _ index: Int) -> Handle? {
    // The trust keeps its answer, and the answer its certificates.
    trust.object(SecTrust.self).flatMap { SecTrustGetCertificateAtIndex($0, index) }.map { Handle(borrowing: $0) }
}
