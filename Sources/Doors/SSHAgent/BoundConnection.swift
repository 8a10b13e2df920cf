import Foundation
package import SSHFormats
import SSHKeyFiles

/// What a connection to the agent is bound to, and whether that can be trusted.
package struct BoundConnection: Sendable {
    /// All verified bindings in their order.
    package private(set) var sessions = SSHBoundSessions()
    /// Whether a binding was refused. From then on nobody knows where the requests come from.
    package private(set) var isRefused = false
    /// Whether a signature was asked for. A binding that comes later could not say where that one went.
    private var hasSigned = false
    /// The contents of the accepted bindings, for another agent.
    private(set) var contents: [Data] = []

    /// Whether the client is a program that may pass on what another machine asks for: ssh, or one that nobody can name.
    private let clientMayForward: Bool

    package init(clientMayForward: Bool = false) { self.clientMayForward = clientMayForward }

    /// Whether another machine may have asked, though no binding says so. A client of SSH that only logs in has a binding.
    var mayBeForwarded: Bool { sessions.bindings.isEmpty && clientMayForward }

    /// Binds the connection to a session.
    ///
    /// - Parameter contents: of the extension, behind its name.
    /// - Throws: ``BindingRefusal``, and then the connection is refused for good.
    mutating func bind(_ contents: Data) throws(BindingRefusal) {
        do throws(BindingRefusal) {
            guard !isRefused else { throw BindingRefusal.refusedBefore }
            guard !hasSigned else { throw BindingRefusal.late }
            guard sessions.login == nil else { throw BindingRefusal.order(.afterLogin) }
            let binding: SSHSessionBinding
            do { binding = try SSHSessionBinding(contents: contents) } catch { throw BindingRefusal.malformed(error) }
            do { try sessions.bind(binding) } catch { throw BindingRefusal.order(error) }
        } catch {
            isRefused = true
            throw error
        }
        self.contents.append(contents)
    }

    mutating func noteSignature() { hasSigned = true }

    /// The session that a login is for; nil on a connection that nothing binds. A host that forwards could bind one host's session and ask for a
    /// login to another.
    ///
    /// - Throws: ``KeyRefusal/otherSession``, ``KeyRefusal/otherHostKey``.
    func session(of login: SSHUserAuthenticationRequest) throws(KeyRefusal) -> SSHSessionBinding? {
        guard !sessions.bindings.isEmpty else { return nil }
        guard let session = sessions.login, session.sessionID == login.sessionID else { throw .otherSession }
        guard login.hostKey?.isSameKey(as: session.hostKey) ?? true else { throw .otherHostKey }
        return session
    }
}

/// Why a binding is refused.
package enum BindingRefusal: Error, Equatable, Sendable {
    case malformed(SSHFormatError)
    case order(SSHBindingError)
    /// After a signature.
    case late
    /// After a binding that was refused.
    case refusedBefore
}

/// The rules of OpenSSH's agent for keys with destinations (`ssh-agent.c`, `identity_permitted`; `PROTOCOL.agent`, section 2).
struct DestinationRules {
    let constraints: [DestinationConstraint]
    let connection: BoundConnection
    /// Seconds since 1970, for certificates.
    let time: UInt64

    /// Whether the connection may see the key, and remove it.
    var permitsSight: Bool { permits(user: nil) }

    /// Whether the key may sign `data` for the connection.
    ///
    /// - Parameter key: the key that was asked for.
    func permitsSignature(of data: Data, by key: SSHPublicKey) -> Bool {
        guard !constraints.isEmpty else { return true }
        guard let last = connection.sessions.bindings.last, !connection.isRefused,
            let request = try? SSHUserAuthenticationRequest(data), request.service == "ssh-connection",
            request.publicKey == key, permits(user: Data(request.user.utf8)), request.sessionID == last.sessionID
        else { return false }
        // The first hop alone may be a server that names no key.
        guard let hostKey = request.hostKey else { return connection.sessions.bindings.count == 1 }
        return hostKey.isSameKey(as: last.hostKey)
    }

    private func permits(user: Data?) -> Bool {
        guard !constraints.isEmpty else { return true }
        guard !connection.isRefused else { return false }
        let bindings = connection.sessions.bindings
        guard let last = bindings.last else { return true }
        var from: SSHPublicKey?
        for (index, binding) in bindings.enumerated() {
            let isLast = index == bindings.count - 1
            // A login is the end: nothing is forwarded over it, and nothing signed for a host that only forwards.
            guard isLast ? !(binding.isForwarding && user != nil) : binding.isForwarding,
                isPermitted(from: from, to: binding.hostKey, user: isLast ? user : nil)
            else { return false }
            from = binding.hostKey
        }
        // A key that may log in to a host, and nowhere from there, is not seen over that host.
        guard last.isForwarding, user == nil else { return true }
        return isPermitted(from: last.hostKey, to: nil, user: nil)
    }

    private func isPermitted(from: SSHPublicKey?, to: SSHPublicKey?, user: Data?) -> Bool {
        constraints.contains { constraint in
            switch (from, constraint.from) {
            case (nil, nil): break
            case (let key?, let hop?) where isKey(key, of: hop): break
            default: return false
            }
            if let to, !isKey(to, of: constraint.to) { return false }
            guard let user, let pattern = constraint.to.user else { return true }
            return NamePattern.matches(user, pattern)
        }
    }

    private func isKey(_ key: SSHPublicKey, of hop: DestinationConstraint.Hop) -> Bool {
        guard key.isCertificate else { return hop.keys.contains { !$0.isAuthority && $0.key == key } }
        guard let certificate = try? HostCertificate(key), certificate.isValid(for: hop.host, at: time) else {
            return false
        }
        return hop.keys.contains { $0.isAuthority && $0.key == certificate.authority }
    }
}
