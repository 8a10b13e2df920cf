import AccessControl
import SSHAgent
import SSHFormats

/// A host key that logins are pinned to.
struct SSHHostDocument: Encodable {
    let fingerprint: String
    /// The owner's name for the host when it was pinned; empty for none.
    let name: String

    init(_ pin: SSHHostPin) {
        fingerprint = SSHLimitWords.fingerprint(pin)
        name = pin.name
    }
}

/// The limits of a key for SSH, in `right show --json`.
struct SSHLimitsDocument: Encodable {
    /// Nil for any host, empty for none.
    let hosts: [SSHHostDocument]?
    /// Nil for any namespace, empty for none.
    let namespaces: [String]?
    let neverForwarded: Bool
    let permitsUnknown: Bool
    fileprivate let words: SSHLimitWords

    private enum CodingKeys: CodingKey { case hosts, namespaces, neverForwarded, permitsUnknown }

    init(_ constraints: SSHKeyConstraints) {
        hosts = constraints.hosts?.map(SSHHostDocument.init)
        namespaces = constraints.namespaces
        neverForwarded = constraints.neverForwarded
        permitsUnknown = constraints.permitsUnknown
        words = SSHLimitWords(constraints)
    }

    /// On one line, such as `git.example.org; no signatures; never forwarded`.
    var text: String { words.short }

    /// Each pinned host key with the owner's name for the host.
    var pins: [String] { (hosts ?? []).map { $0.name.isEmpty ? $0.fingerprint : "\($0.fingerprint) (\($0.name))" } }
}

/// A key of `ssh list --json`, and what `ssh create` and `ssh import` print with `--json`.
struct SSHKeyDocument: Encodable {
    let name: String
    /// Such as `ssh-ed25519`.
    let type: String
    /// The line for authorized_keys, without a comment.
    let publicKey: String
    let fingerprint: String
    /// `enclave`; `imported`: then the private half signs in the memory of the agent; `passkey`: one of this machine that was made for SSH.
    let place: String
    /// Whether each signature is confirmed.
    let confirmsEachSignature: Bool
    /// The rule for a signature; nil where the store does not say it.
    let requires: String?
    /// The greatest limits of a lease; nil where each signature is confirmed without exception, and where none is.
    let leaseLimits: GrantLimitsDocument?
    /// Nil for any host, empty for none.
    let hosts: [SSHHostDocument]?
    /// Nil for any namespace, empty for none.
    let namespaces: [String]?
    let neverForwarded: Bool
    let permitsUnknown: Bool

    init(_ key: HeldKey, requires: String?, leaseLimits: GrantLimits? = nil) {
        name = key.name
        type = key.publicKey.name
        publicKey = key.publicKey.line
        fingerprint = key.publicKey.fingerprint.description
        switch key.place {
        case .enclave(_, let confirms): (place, confirmsEachSignature) = ("enclave", confirms)
        case .imported: (place, confirmsEachSignature) = ("imported", false)
        case .passkey: (place, confirmsEachSignature) = ("passkey", true)
        }
        self.requires = requires
        self.leaseLimits = leaseLimits.map(GrantLimitsDocument.init)
        hosts = key.constraints.hosts?.map(SSHHostDocument.init)
        namespaces = key.constraints.namespaces
        neverForwarded = key.constraints.neverForwarded
        permitsUnknown = key.constraints.permitsUnknown
    }
}

/// `ssh list --json`.
struct SSHKeyListDocument: Encodable {
    let keys: [SSHKeyDocument]
}
