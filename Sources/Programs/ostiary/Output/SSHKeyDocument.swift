import AccessControl
import SSHAgent
import SSHFormats

/// A key of `ssh list --json`, and what `ssh create` and `ssh import` print with `--json`.
struct SSHKeyDocument: Encodable {
    /// A host key that logins are pinned to.
    struct Host: Encodable {
        let fingerprint: String
        /// The owner's name for the host when it was pinned; empty for none.
        let name: String
    }

    let name: String
    /// Such as `ssh-ed25519`.
    let type: String
    /// The line for authorized_keys, without a comment.
    let publicKey: String
    let fingerprint: String
    /// `enclave`, or `imported`: then the private half signs in the memory of the agent.
    let place: String
    /// Whether each signature is confirmed.
    let confirmsEachSignature: Bool
    /// The rule for a signature; nil where the store does not say it.
    let requires: String?
    /// Nil for any host, empty for none.
    let hosts: [Host]?
    /// Nil for any namespace, empty for none.
    let namespaces: [String]?
    let neverForwarded: Bool
    let permitsUnknown: Bool

    init(_ key: HeldKey, requires: String?) {
        name = key.name
        type = key.publicKey.name
        publicKey = key.publicKey.line
        fingerprint = key.publicKey.fingerprint.description
        place = key.isImported ? "imported" : "enclave"
        if case .enclave(_, let confirms) = key.place {
            confirmsEachSignature = confirms
        } else {
            confirmsEachSignature = false
        }
        self.requires = requires
        hosts = key.constraints.hosts.map { hosts in
            hosts.map { Host(fingerprint: SSHLimitWords.fingerprint($0), name: $0.name) }
        }
        namespaces = key.constraints.namespaces
        neverForwarded = key.constraints.neverForwarded
        permitsUnknown = key.constraints.permitsUnknown
    }
}

/// `ssh list --json`.
struct SSHKeyListDocument: Encodable {
    let keys: [SSHKeyDocument]
}
