/// What a signature for SSH is for, as the signed bytes and the host's proof tell it.
public struct PromptSSHFacts: Codable, Equatable, Sendable {
    public enum Purpose: Codable, Equatable, Sendable {
        case login(user: DisplayText, service: DisplayText)
        case signature(namespace: DisplayText)
        /// Neither; nothing is known of the bytes.
        case unknown
    }

    public enum HostName: Codable, Equatable, Sendable {
        /// The owner gave the name when the key was pinned to the host.
        case ofOwner(DisplayText)
        /// The asking program says so.
        case claimed(DisplayText)
    }

    public let purpose: Purpose
    /// The fingerprint of the key of the host that a login goes to; nil when nobody knows it, and for other purposes.
    public let hostKey: DisplayText?
    public let hostName: HostName?
    /// Whether another host could have asked, over a forwarded agent.
    public let isForwarded: Bool

    public init(_ purpose: Purpose, hostKey: DisplayText?, hostName: HostName?, isForwarded: Bool) {
        self.purpose = purpose
        self.hostKey = hostKey
        self.hostName = hostName
        self.isForwarded = isForwarded
    }
}
