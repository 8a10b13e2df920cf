package import Foundation
import KeyAlgorithms

/// A refusal of this module that Apple's calls report as an `OSStatus`.
package struct StatusError: Error, Hashable, Sendable {
    package let status: OSStatus
    /// A description for a person: the attempt, and why it failed. It holds no bytes of caller, key or message.
    package let reason: String

    package init(_ status: OSStatus, _ reason: String) {
        self.status = status
        self.reason = reason
    }

    /// `errSecParam` with its reason.
    package static func parameter(_ reason: String) -> StatusError { StatusError(errSecParam, reason) }
}

extension NSError {
    /// The error that an Apple call reports for `error`. A status of ours becomes an error of `NSOSStatusErrorDomain`
    /// with its description. An `NSError` from elsewhere (a token, LocalAuthentication) stays unchanged.
    package static func reporting(_ error: any Error) -> NSError {
        switch error {
        case let error as StatusError: .status(error.status, error.reason)
        case let error as KeyAlgorithmError: .status(error.status, error.reason)
        default: error as NSError
        }
    }

    static func status(_ status: OSStatus, _ reason: String) -> NSError {
        NSError(
            domain: NSOSStatusErrorDomain, code: Int(status),
            userInfo: [NSLocalizedDescriptionKey: reason, "NSDescription": reason])
    }

    /// The code, if it is one of `NSOSStatusErrorDomain`; `errSecInternalComponent` for an error of another domain, which the
    /// calls that return an `OSStatus` cannot name.
    package var status: OSStatus {
        guard domain == NSOSStatusErrorDomain, let status = OSStatus(exactly: code) else {
            return errSecInternalComponent
        }
        return status
    }
}

/// Runs the work of an Apple call that returns nil and fills in an error when it fails.
package func reportingErrors<Result>(
    to error: UnsafeMutablePointer<Unmanaged<CFError>?>?, _ work: () throws -> Result
) -> Result? {
    do { return try work() } catch let failure {
        if let error = unsafe error { unsafe error.pointee = Unmanaged.passRetained(NSError.reporting(failure)) }
        return nil
    }
}
