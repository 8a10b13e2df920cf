/// The purpose of a signature for SSH, as the signed bytes and the host's proof tell it.
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
    /// The fingerprint of the key that is to sign, where nothing else in the question tells the person's keys apart.
    public let signingKey: DisplayText?
    /// The fingerprint of the key of the host that a login goes to; nil when nobody knows it, and for other purposes.
    public let hostKey: DisplayText?
    public let hostName: HostName?
    /// The fingerprints of the hosts that a forwarded agent came over, in the order of the way from this machine. Each of them could have asked.
    public let forwarders: [DisplayText]
    /// Whether another host may have asked though nobody says so: the program can forward an agent, and has proved no host.
    public let mayBeForwarded: Bool

    /// Whether another host could have asked, over a forwarded agent.
    public var isForwarded: Bool { !forwarders.isEmpty }

    public init(
        _ purpose: Purpose, signingKey: DisplayText? = nil, hostKey: DisplayText?, hostName: HostName?,
        forwarders: [DisplayText] = [], mayBeForwarded: Bool = false
    ) {
        self.purpose = purpose
        self.signingKey = signingKey
        self.hostKey = hostKey
        self.hostName = hostName
        self.forwarders = forwarders
        self.mayBeForwarded = mayBeForwarded
    }
}
