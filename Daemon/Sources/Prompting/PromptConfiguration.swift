/// How this daemon asks people.
public struct PromptConfiguration: Equatable, Sendable {
    /// One way to ask.
    public enum FrontEnd: String, Equatable, Sendable, CaseIterable {
        case terminal
        case pinentry
    }

    /// Which ways to try, in order.
    public var frontEnds: [FrontEnd] = [.terminal, .pinentry]
    public var terminalPolicy: TerminalPolicy = .any
    /// Absolute path of a pinentry program; nil when there is none. Never taken from an environment.
    public var pinentryPath: String?
    /// DISPLAY, WAYLAND_DISPLAY and XAUTHORITY for dialogs.
    public var display: String?
    public var waylandDisplay: String?
    public var xAuthority: String?
    /// How long a question stays on screen.
    public var timeLimitSeconds = 120

    /// Time limits that can be configured: long enough to type, short enough not to be left standing.
    public static let timeLimitBounds = 5...600

    public init() {}

    /// Whether a dialog can be drawn without a terminal.
    var hasDisplay: Bool { display != nil || waylandDisplay != nil }
}
