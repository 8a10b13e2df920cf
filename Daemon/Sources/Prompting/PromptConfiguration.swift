/// How this daemon asks people.
public struct PromptConfiguration: Equatable, Sendable {
    /// One way to ask.
    public enum FrontEnd: String, Equatable, Sendable, CaseIterable {
        case terminal
        case pinentry
        case sheet
    }

    /// Which ways to try, in order.
    public var frontEnds: [FrontEnd] = [.terminal, .pinentry, .sheet]
    public var terminalPolicy: TerminalPolicy = .any
    /// Absolute path of a pinentry program; nil when there is none. Never taken from an environment.
    public var pinentryPath: String?
    /// DISPLAY, WAYLAND_DISPLAY and XAUTHORITY for dialogs.
    public var display: String?
    public var waylandDisplay: String?
    public var xAuthority: String?
    /// How a sheet looks: light letters on a dark ground, and their size in percent of the usual one.
    public var sheetIsDark = false
    public var sheetTextPercent = 100
    /// How long a question stays on screen.
    public var timeLimitSeconds = 120

    /// Time limits that can be configured: long enough to type, short enough not to be left standing.
    public static let timeLimitBounds = 5...600

    /// Sizes of letters that can be configured. Above, a question would not fit on a screen.
    public static let textPercentBounds = 100...200

    public init() {}

    /// Whether a dialog can be drawn without a terminal.
    var hasDisplay: Bool { display != nil || waylandDisplay != nil }
}
