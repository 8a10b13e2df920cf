public import PromptProtocol

/// The settings of `ostiaryd.conf`: how this daemon asks people, where it makes the keys of a new store, and how much its users may store.
public struct PromptConfiguration: Equatable, Sendable {
    /// One way to ask.
    public enum FrontEnd: String, Equatable, Sendable, CaseIterable {
        case terminal
        case pinentry
        case sheet
        /// A console of Ostiary's own, the trusted place.
        case vt
    }

    /// Which ways to try, in order.
    public var frontEnds: [FrontEnd] = [.terminal, .pinentry, .sheet]
    public var terminalPolicy: TerminalPolicy = .any
    /// The terminals on which a finger may answer.
    public var fingerPolicy: TerminalPolicy = .any
    /// The terminals on which a face may answer. On none by default: a camera sees the person without a touch or a key, also
    /// for a question on a terminal that nobody looks at.
    public var facePolicy: TerminalPolicy = .never
    /// The PAM service that knows the owner's face; nil when no face is looked for.
    public var faceService: String?
    /// Absolute path of a pinentry program; nil when there is none. Never taken from an environment.
    public var pinentryPath: String?
    /// DISPLAY, WAYLAND_DISPLAY and XAUTHORITY for dialogs.
    public var display: String?
    public var waylandDisplay: String?
    public var xAuthority: String?
    /// The sheet's look: light letters on a dark ground if true. The next property is the letters' size in percent of
    /// the usual one.
    public var sheetIsDark = false
    public var sheetTextPercent = 100
    /// The sheet's language; nil for that of the user's session.
    public var sheetLanguage: SheetLanguage?
    /// How long a question stays on screen.
    public var timeLimitSeconds = 120
    /// How long what a person proved for a context of a program counts there, unless the program ends it before. Apple's is
    /// measured at about ten minutes.
    public var contextSeconds = 600

    /// How many mebibytes of a store each of its users may have; nil for no limit. For a daemon of many users alone.
    public var storeMebibytes: Int?

    /// Where the keys of a store are.
    public var enclave = EnclaveConfiguration()

    /// Time limits that can be configured: long enough to type, short enough not to block other questions.
    public static let timeLimitBounds = 5...600

    /// Lifetimes that can be configured: long enough to use what was asked for, and shorter than a working day.
    public static let contextBounds = 10...3600

    /// Shares of a store that can be configured: some items, and all of a large disk.
    public static let storeBounds = 1...1_048_576

    /// Letter sizes that can be configured. With larger letters, a question would not fit on a screen.
    public static let textPercentBounds = 100...200

    public init() {}

    /// What a daemon for the whole machine has where its file says nothing. A terminal of a window is drawn by a program of the user
    /// that can read what is typed; that program need not be able to ask the daemon for anything. A login's terminal is the kernel's, or that
    /// of a remote login. A finger answers there and in the sheet alone: the next touch must not go to a hidden `sudo`, nor to a program that made
    /// itself a terminal. A pinentry cannot run under another account.
    package static var ofMachine: PromptConfiguration {
        var settings = PromptConfiguration()
        settings.frontEnds = [.terminal, .sheet]
        settings.terminalPolicy = .login
        settings.fingerPolicy = .login
        settings.storeMebibytes = 64
        return settings
    }

    /// Whether a dialog can be drawn without a terminal.
    package var hasDisplay: Bool { display != nil || waylandDisplay != nil }

    /// The keys of those settings that are for a daemon of one user: its display, and a program under its account.
    package var keysOfOneUser: [String] {
        [
            ("prompt.pinentry", pinentryPath), ("prompt.display", display), ("prompt.wayland-display", waylandDisplay),
            ("prompt.xauthority", xAuthority),
        ].filter { $0.1 != nil }.map { $0.0 }
    }

    /// The same without the configured display.
    package var withoutDisplay: PromptConfiguration {
        var settings = self
        (settings.display, settings.waylandDisplay, settings.xAuthority) = (nil, nil, nil)
        return settings
    }
}

/// Which terminals may be used for questions.
public enum TerminalPolicy: String, Equatable, Sendable, CaseIterable {
    /// None: only dialogs.
    case never
    /// Those with a login entry (utmp) of the caller's user: consoles and remote logins, rarely terminal windows.
    case login
    /// Any terminal that passes the other checks.
    case any
}
