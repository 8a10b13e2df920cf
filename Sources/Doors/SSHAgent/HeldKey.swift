package import AccessControl
package import Cancellations
package import Foundation
package import SSHFormats
package import SSHKeyFiles

/// A key for SSH that Ostiary keeps.
package struct HeldKey: Sendable, Equatable {
    /// Where the private half is, and how it signs.
    package enum Place: Sendable, Equatable {
        /// In the enclave. `confirms`: the person is asked for each signature.
        case enclave(right: Data, confirms: Bool)
        /// An item's secret, which signs in the memory of the agent.
        case imported(item: Data)
        /// A passkey of this machine that was made for SSH. The person is asked for each signature.
        case passkey(id: Data)

        /// Of the right, item or passkey.
        package var id: Data {
            switch self {
            case .enclave(let right, _): right
            case .imported(let item): item
            case .passkey(let id): id
            }
        }
    }

    package let name: String
    package let publicKey: SSHPublicKey
    package let constraints: SSHKeyConstraints
    package let place: Place

    package init(name: String, publicKey: SSHPublicKey, constraints: SSHKeyConstraints, place: Place) {
        (self.name, self.publicKey, self.constraints, self.place) = (name, publicKey, constraints, place)
    }

    package var isImported: Bool { if case .imported = place { true } else { false } }
    package var isPasskey: Bool { if case .passkey = place { true } else { false } }

    /// What lists show beside the public key.
    package var comment: String {
        switch place {
        case .enclave: name
        case .imported: "\(name) (imported)"
        case .passkey: "\(name) (passkey)"
        }
    }
}

/// A signature that a client asks for, with what is known of its destination.
package struct ClientSignature: Sendable {
    package let data: Data
    package let flags: SignatureFlags
    package let connection: BoundConnection
    /// The name of the host in `known_hosts`, which is this program's word; empty for none.
    package let hostName: String

    package init(data: Data, flags: SignatureFlags, connection: BoundConnection, hostName: String) {
        (self.data, self.flags, self.connection, self.hostName) = (data, flags, connection, hostName)
    }
}

/// What the agent asks of Ostiary for one client. Every call blocks; all but the first as long as the person is asked, or until the cancellation
/// ends the question.
package protocol KeyHolding: Sendable {
    /// The keys for SSH. Asks nobody, also while the store is locked.
    func keys() throws -> [HeldKey]
    func sign(_ request: ClientSignature, with key: HeldKey, cancellation: Cancellation) throws -> SSHSignature
    /// Signs with a key that a program gave to the agent, and whose private half is in a security key.
    func sign(
        _ request: ClientSignature, withSecurityKey key: SSHPrivateKey, cancellation: Cancellation
    ) throws -> SSHSignature
    /// Has the person agree to one use of a key that a program gave to the agent.
    func confirm(_ reason: String, for connection: BoundConnection, cancellation: Cancellation) throws
}

/// The limits of an imported key, checked before anybody is asked. For keys in the enclave the daemon checks them itself, by the same rules.
package enum ImportedKeyRules {
    /// Returns what the question about a signature by `key` says, if the key may make it.
    ///
    /// - Throws: ``KeyRefusal``.
    package static func question(about request: ClientSignature, with key: HeldKey) throws(KeyRefusal) -> String {
        try check(request, with: key)
        return try SignatureWords(request, with: key).reason
    }

    private static func check(_ request: ClientSignature, with key: HeldKey) throws(KeyRefusal) {
        guard !request.connection.isRefused else { throw .refusedBinding }
        let sessions = request.connection.sessions
        if key.constraints.neverForwarded, sessions.isForwarded { throw .forwarded }
        if key.constraints.neverForwarded || key.constraints.hosts != nil, request.connection.mayBeForwarded {
            throw .unbound
        }
        let data: SSHSignedData
        do { data = try SSHSignedData.parse(request.data) } catch { throw .malformed }
        switch data {
        case .userAuthentication(let login): try check(login, request.connection, with: key)
        case .sshsig(let signature):
            guard key.constraints.permits(namespace: signature.namespace) else { throw .namespace(signature.namespace) }
            try checkForwardingHosts(sessions, of: key.constraints)
        case .unknown:
            guard key.constraints.permitsUnknown else { throw .unknownData }
            try checkForwardingHosts(sessions, of: key.constraints)
        }
    }

    private static func check(
        _ login: SSHUserAuthenticationRequest, _ connection: BoundConnection, with key: HeldKey
    ) throws(KeyRefusal) {
        guard login.publicKey.isSameKey(as: key.publicKey) else { throw .otherKey }
        let constraints = key.constraints
        guard let session = try connection.session(of: login) else {
            guard constraints.hosts == nil, !constraints.neverForwarded else { throw .unbound }
            return
        }
        guard constraints.hosts != nil else { return }
        guard login.hostKey != nil || !connection.sessions.isForwarded else { throw .notHostBound }
        guard constraints.pin(of: session.hostKey.fingerprint.bytes) != nil else {
            throw .host(session.hostKey.fingerprint)
        }
        try checkForwardingHosts(connection.sessions, of: constraints)
    }

    private static func checkForwardingHosts(
        _ sessions: SSHBoundSessions, of constraints: SSHKeyConstraints
    ) throws(KeyRefusal) {
        guard constraints.hosts != nil else { return }
        for session in sessions.forwarding
        where constraints.pin(of: session.hostKey.fingerprint.bytes) == nil {
            throw .host(session.hostKey.fingerprint)
        }
    }
}

/// Why a key is not used, without a question.
package enum KeyRefusal: Error, Equatable, Sendable {
    case refusedBinding
    case malformed
    case otherKey
    case otherSession
    case otherHostKey
    case unbound
    case host(SSHFingerprint)
    case forwarded
    case notHostBound
    case namespace(String)
    case unknownData
    case unshowableUser
    case unshowableNamespace
}

extension KeyRefusal: CustomStringConvertible {
    package var description: String {
        switch self {
        case .refusedBinding:
            "a binding of its connection to a session was refused, so nobody knows where the request comes from"
        case .malformed: "the data is a damaged login or signature"
        case .otherKey: "the login names another key"
        case .otherSession: "the login is not of the session that the connection is bound to"
        case .otherHostKey: "the login names another host key than the one that the connection is bound to"
        case .unbound: "the key is limited to hosts or never forwarded, and the client did not prove its session"
        case .host(let fingerprint): "the key is not for the host with the key \(fingerprint)"
        case .forwarded: "the key is never used over a forwarded agent, and this one is forwarded"
        case .notHostBound: "the agent is forwarded, and the server named no host key in the login"
        case .namespace(let name): "the key makes no signatures in the namespace \(name)"
        case .unshowableUser: "the user of the login is no short plain name, so nobody was asked"
        case .unshowableNamespace: "the namespace of the signature is no short plain name, so nobody was asked"
        case .unknownData: "the data is neither a login nor an SSH signature, and the key signs nothing else"
        }
    }
}
