import CertificateChains
import Foundation
import Synchronization

/// The certificates that this machine trusts: those that its administrator manages with `update-ca-certificates`.
enum SystemAnchors {
    /// Where Debian keeps them (ca-certificates).
    static let place = "/etc/ssl/certs/ca-certificates.crt"

    /// Read once, when somebody needs them first. A failure is not kept: the next call reads again.
    static func load(from place: String = place) throws(StatusError) -> Certificates {
        if let known = known.withLock({ $0[place] }) { return known }
        guard let bundle = FileManager.default.contents(atPath: place) else {
            throw StatusError(
                errSecTrustNotAvailable,
                "The certificates that this machine trusts cannot be read from \(place). Install the package ca-certificates."
            )
        }
        guard let certificates = Certificates(pem: bundle) else {
            throw StatusError(
                errSecTrustNotAvailable, "A certificate in \(place) cannot be read. Run update-ca-certificates.")
        }
        known.withLock { $0[place] = certificates }
        return certificates
    }

    private static let known = Mutex<[String: Certificates]>([:])
}
