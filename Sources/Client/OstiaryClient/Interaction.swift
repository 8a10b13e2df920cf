import OstiaryMessages

/// How a question to the person is put, if one has to be.
public struct Interaction: Sendable {
    /// Why the program asks; shown in the prompt, must not be empty.
    public var reason: String
    /// False: calls that need a prompt fail with `notInteractive` instead.
    public var isAllowed: Bool
    /// Replaces the word "Cancel" when not empty.
    public var cancelTitle: String
    /// Replaces the fallback's words when not empty.
    public var fallbackTitle: String
    /// Offers no fallback.
    public var hidesFallback: Bool
    /// How many seconds ago biometry may have been proved so that a policy asks nobody; 0 for never.
    public var reuseSeconds: Double
    /// Whether the question may be put on the program's terminal.
    public var offersTerminal = true

    public init(
        reason: String, isAllowed: Bool = true, cancelTitle: String = "", fallbackTitle: String = "",
        hidesFallback: Bool = false, reuseSeconds: Double = 0
    ) {
        self.reason = reason
        self.isAllowed = isAllowed
        self.cancelTitle = cancelTitle
        self.fallbackTitle = fallbackTitle
        self.hidesFallback = hidesFallback
        self.reuseSeconds = reuseSeconds
    }

    var question: WireQuestion {
        .with {
            $0.reason = reason
            $0.interactionNotAllowed = !isAllowed
            $0.cancelTitle = cancelTitle
            $0.fallbackTitle = fallbackTitle
            $0.hidesFallback = hidesFallback
        }
    }

    /// When a prompt may come.
    var terminal: TerminalOffer? { isAllowed && offersTerminal ? TerminalOffer() : nil }
}
