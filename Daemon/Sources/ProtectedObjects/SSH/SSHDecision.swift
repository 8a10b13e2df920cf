package import AccessControl
import Foundation
package import SSHFormats

/// A program's request for a signature for SSH: the bytes as the daemon reads them, and the sessions whose hosts proved themselves.
package struct SSHRequest: Hashable, Sendable {
    package let data: SSHSignedData
    /// All of them were verified.
    package let sessions: SSHBoundSessions
    /// Whether the client is a program that may pass on another machine's requests without a word.
    package let clientMayForward: Bool

    package init(data: SSHSignedData, sessions: SSHBoundSessions, clientMayForward: Bool) {
        (self.data, self.sessions, self.clientMayForward) = (data, sessions, clientMayForward)
    }

    /// Whether another machine may have asked, though no binding says so: a client of SSH that only logs in has a binding.
    var mayBeForwarded: Bool { sessions.bindings.isEmpty && clientMayForward }

    /// The key of the host that a login goes to: what the signed bytes name, which the server compares, or what the session is bound to.
    /// Nil where the request is no login, or nothing says so.
    package var destination: SSHPublicKey? {
        guard case .userAuthentication(let login) = data else { return nil }
        return login.hostKey ?? sessions.login?.hostKey
    }
}

/// Why a key does not sign a request for SSH. Nobody is asked then.
package enum SSHRefusal: Error, Hashable, Sendable, CaseIterable {
    // The request contradicts itself. No key permits that.
    /// The bytes begin as a login or an SSH signature, or a binding does as one, and are none.
    case malformed
    /// A host's key did not sign the session id.
    case forgedBinding
    /// A session is bound behind the login's, or twice.
    case bindingOrder
    /// The login names another key than the one that is to sign.
    case otherKey
    /// The login is not of the session that is bound, or the connection is bound for forwarding only.
    case otherSession
    /// The login names another host's key than the one that the session is bound to.
    case otherHostKey

    // The key's constraints.
    case forwarded
    /// The key is pinned to hosts or never forwarded, and nothing says which host it is, or whose session.
    case unbound
    /// The host, or one that forwards the request, is none of those that the key is pinned to.
    case otherHost
    /// A host in between could use the login elsewhere: the signed bytes do not name the host's key.
    case notHostBound
    case namespace
    case unknownData
    /// The user's name or the namespace does not fit into the question.
    case unshowable
}

/// Whether a key may sign a request, and if not, why. The person is asked only about what this permits.
///
/// - Parameters:
///   - key: the key that is to sign.
///   - constraints: those of the key; nil for a key that is not for SSH alone. Such a key signs no unknown data.
package func decide(
    _ request: SSHRequest, by key: SSHPublicKey, under constraints: SSHKeyConstraints?
) -> SSHRefusal? {
    let refusal: SSHRefusal? =
        switch request.data {
        case .userAuthentication(let login): refusal(of: login, in: request, by: key, under: constraints)
        case .sshsig(let signature): (constraints?.permits(namespace: signature.namespace) ?? true) ? nil : .namespace
        case .unknown: constraints?.permitsUnknown == true ? nil : .unknownData
        }
    return refusal ?? constraints.flatMap { pathRefusal(of: request, under: $0) }
}

/// Compares a login with its key, its session and the hosts that the key is pinned to.
private func refusal(
    of login: SSHUserAuthenticationRequest, in request: SSHRequest, by key: SSHPublicKey,
    under constraints: SSHKeyConstraints?
) -> SSHRefusal? {
    guard login.publicKey.isSameKey(as: key) else { return .otherKey }
    if !request.sessions.bindings.isEmpty {
        guard let bound = request.sessions.login, bound.sessionID == login.sessionID else { return .otherSession }
        guard login.hostKey?.isSameKey(as: bound.hostKey) ?? true else { return .otherHostKey }
    }
    guard let constraints else { return nil }
    // A client that binds no session could be one that forwards without saying so, and a pin is for all hosts on the way.
    guard !constraints.coversWay || !request.sessions.bindings.isEmpty else { return .unbound }
    guard constraints.hosts != nil else { return nil }
    guard let destination = request.destination else { return .unbound }
    guard constraints.pin(of: destination.fingerprint.bytes) != nil else { return .otherHost }
    guard !request.sessions.isForwarded || login.method == .hostBound else { return .notHostBound }
    return nil
}

/// The way that a request has come.
private func pathRefusal(of request: SSHRequest, under constraints: SSHKeyConstraints) -> SSHRefusal? {
    guard !constraints.neverForwarded || !request.sessions.isForwarded else { return .forwarded }
    guard !constraints.coversWay || !request.mayBeForwarded else { return .unbound }
    guard constraints.hosts != nil else { return nil }
    // A host that forwards requests can make its own.
    let arePinned = request.sessions.forwarding.allSatisfy { constraints.pin(of: $0.hostKey.fingerprint.bytes) != nil }
    return arePinned ? nil : .otherHost
}

extension SSHKeyConstraints {
    /// Whether they limit the hosts that a request has come over.
    fileprivate var coversWay: Bool { neverForwarded || hosts != nil }
}
