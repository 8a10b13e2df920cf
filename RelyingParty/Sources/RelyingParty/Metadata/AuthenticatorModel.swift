public import Foundation
import SwiftASN1
import X509

/// A model of authenticator in the metadata.
public struct AuthenticatorModel: Sendable, Equatable {
    /// 16 bytes; nil for models that have only U2F.
    public let aaguid: Data?
    /// The name that its maker gave it.
    public let name: String?
    /// All reports, in the order of the list.
    public let reports: [AuthenticatorStatusReport]
    let roots: [Certificate]

    /// The first report of `statuses` that is about an authenticator with these certificates. Its day does not matter: what is
    /// announced for tomorrow is known today.
    func report(in statuses: Set<AuthenticatorStatus>, certificates: [Certificate]) -> AuthenticatorStatusReport? {
        reports.first { report in
            guard statuses.contains(report.status) else { return false }
            guard let bytes = report.certificate else { return true }
            // A certificate that cannot be read may be the authenticator's.
            guard let reported = try? Certificate(derEncoded: bytes) else { return true }
            return certificates.contains(reported)
        }
    }
}
