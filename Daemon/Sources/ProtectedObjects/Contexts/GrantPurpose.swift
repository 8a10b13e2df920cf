package import ExactNames
package import Foundation

/// The purpose of an authorization of a right or key: its question named it.
package enum GrantPurpose: Equatable, Sendable {
    /// For every use that the rule permits: the question named the object alone.
    case anything
    /// For signatures of SSH with this destination (the name of ``SSHSigning/destination``), which the bytes or a host's proof tell.
    case ssh(destination: ExactName)
    /// For a signature of SSH over these bytes alone, over these hosts, since nothing tells where it goes. The digest is SHA-256.
    case sshOnce(digest: Data, destination: ExactName)
}
