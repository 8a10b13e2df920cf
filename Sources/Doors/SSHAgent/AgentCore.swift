package import SSHFormats

/// What all connections of an agent have in common.
package final class AgentCore: Sendable {
    package let added: AddedKeys
    package let lock: AgentLock
    /// For keys that come without a lifetime, in seconds; nil for ever.
    let lifetime: UInt32?
    /// The name of a host's key, empty for an unknown one.
    let hostName: @Sendable (SSHPublicKey) -> String
    /// Tells the person who runs the agent why it refused something. Never a secret.
    let note: @Sendable (String) -> Void
    /// Seconds since 1970, for certificates of hosts.
    let time: @Sendable () -> UInt64

    package init(
        added: AddedKeys = AddedKeys(), lock: AgentLock = AgentLock(), lifetime: UInt32? = nil,
        hostName: @escaping @Sendable (SSHPublicKey) -> String = { _ in "" },
        time: @escaping @Sendable () -> UInt64, note: @escaping @Sendable (String) -> Void
    ) {
        (self.added, self.lock, self.lifetime) = (added, lock, lifetime)
        (self.hostName, self.time, self.note) = (hostName, time, note)
    }
}
