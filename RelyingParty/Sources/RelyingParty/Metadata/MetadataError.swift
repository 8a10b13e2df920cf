public import Foundation

/// Why a list of authenticators is not taken.
public enum MetadataError: Error, Equatable, Sendable {
    /// More bytes than any list has; this many.
    case tooLong(Int)
    /// It is no JSON Web Signature: three parts in base64url.
    case notSigned
    /// The first part cannot be read.
    case headerUnreadable
    /// The list is signed with this algorithm, which is neither `RS256` nor `ES256`, or is not that of the certificate's key.
    case algorithm(String)
    /// There is no certificate, or there are more than eight; this many.
    case certificateCount(Int)
    /// This certificate of the list, counted from 0, is no X.509 certificate.
    case certificateUnreadable(Int)
    /// This root, counted from 0, is no X.509 certificate.
    case rootUnreadable(Int)
    /// The certificate is for another name than the signer's.
    case signerMismatch
    /// No chain of valid certificates leads to a root.
    case untrusted
    case signatureInvalid
    /// The list itself cannot be read.
    case contentUnreadable
    /// The list has this number, and a newer one was read before.
    case older(Int)
    /// A newer list has been due since this day.
    case outdated(Date)
}
