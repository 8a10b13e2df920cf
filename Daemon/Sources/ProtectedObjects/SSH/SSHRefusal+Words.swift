import OstiaryMessages
package import Refusals

extension SSHRefusal {
    /// The words for the program, and the cause for the log.
    package var refusal: Refusal { Refusal(.operationNotPermitted, explanation, cause: cause) }

    package var cause: String {
        switch self {
        case .malformed: "ssh.malformed"
        case .forgedBinding: "ssh.forged-binding"
        case .bindingOrder: "ssh.binding-order"
        case .otherKey: "ssh.key"
        case .otherSession: "ssh.other-session"
        case .otherHostKey: "ssh.other-host-key"
        case .forwarded: "ssh.forwarded"
        case .unbound: "ssh.unbound"
        case .otherHost: "ssh.host"
        case .notHostBound: "ssh.not-hostbound"
        case .namespace: "ssh.namespace"
        case .unknownData: "ssh.unknown-data"
        case .unshowable: "ssh.unshowable"
        }
    }

    private var explanation: String {
        switch self {
        case .malformed:
            "The bytes begin like a login or a signature of SSH, but they are none. Nothing was signed; use another client."
        case .forgedBinding:
            "The host did not prove that the session is its own. Nothing was signed; connect again, and check the host's key."
        case .bindingOrder:
            "The connection to the agent was bound to a session before, and cannot be bound to this one. Connect again."
        case .otherKey: "The login names another key than the one that is to sign. Nothing was signed."
        case .otherSession:
            "The login is not one of the session that the connection is bound to. Nothing was signed; connect again."
        case .otherHostKey:
            "The login names another host's key than the session's. Nothing was signed; check the host's key."
        case .forwarded:
            "The key is never used over a forwarded agent. Log in from this machine, for example with `ssh -J`."
        case .unbound:
            "The key's limits need to know the host and its session, and the client did not tell them. Use OpenSSH 8.9 or "
                + "newer, or a key without these limits."
        case .otherHost:
            "The key is pinned to other hosts than this one, or than one that forwards the request. Make a key for this host."
        case .notHostBound:
            "The key is pinned to hosts, the agent is forwarded, and the server does not have its key signed. Log in from "
                + "this machine, for example with `ssh -J`."
        case .namespace: "The key makes no signatures in this namespace. Make a key for it."
        case .unknownData:
            "The bytes are neither a login nor a signature of SSH, and the key signs nothing else. Make a key that permits "
                + "it."
        case .unshowable: "The user's name or the namespace does not fit into the prompt, so nothing was asked."
        }
    }
}
