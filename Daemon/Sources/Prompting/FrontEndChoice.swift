import PromptProtocol

/// Chooses how to ask: the first configured way that works here. Pure; what files there are is told by its caller.
struct FrontEndChoice {
    let configuration: PromptConfiguration
    /// The caller's terminal as checked; nil when it passed none.
    let terminal: Result<VerifiedTerminal, TerminalRefusal>?
    let terminalType: TerminalType
    /// Whether the person answers with keys. A pinentry can put no other question: it does not tell when it is visible.
    var isTyped = true
    /// Whether any program could answer on a terminal that it made, see ``PromptQuestion/isUnproved``.
    var isUnproved = false
    /// Whether the terminal is one that somebody logged in on.
    var isLoginTerminal = false
    /// Why the configured pinentry must not be started; nil when it may, or when none is configured.
    let pinentryDistrust: ProgramDistrust?
    /// The display for a sheet, looked for only when a sheet comes first.
    var findDisplay: () -> Result<SheetOptions.Display, DisplayRefusal> = { .failure(.none) }

    private var verifiedTerminal: VerifiedTerminal? { try? terminal?.get() }

    /// The way to ask, or why there is none.
    func choose() -> Result<PromptFrontEnd, PromptUnavailability> {
        if isUnproved, !isLoginTerminal, let dialog { return .success(dialog) }
        var displayRefusal: DisplayRefusal?
        for frontEnd in configuration.frontEnds {
            switch frontEnd {
            case .terminal: if verifiedTerminal != nil { return .success(.terminal) }
            case .pinentry: if let options = pinentryOptions { return .success(.pinentry(options)) }
            case .sheet:
                switch findDisplay() {
                case .success(let display): return .success(.sheet(options(of: display)))
                case .failure(let refusal): displayRefusal = refusal
                }
            }
        }
        return .failure(unavailability(displayRefusal))
    }

    /// A configured dialog that is not on the caller's terminal.
    private var dialog: PromptFrontEnd? {
        if configuration.hasDisplay, configuration.frontEnds.contains(.pinentry), let options = pinentryOptions {
            return .pinentry(options)
        }
        guard configuration.frontEnds.contains(.sheet), case .success(let display) = findDisplay() else { return nil }
        return .sheet(options(of: display))
    }

    private func options(of display: SheetOptions.Display) -> SheetOptions {
        SheetOptions(
            display: display, isDark: configuration.sheetIsDark, textPercent: configuration.sheetTextPercent)
    }

    private var pinentryOptions: PinentryOptions? {
        guard isTyped, let program = configuration.pinentryPath, pinentryDistrust == nil else { return nil }
        guard configuration.hasDisplay || verifiedTerminal != nil else { return nil }
        return PinentryOptions(
            program: program, terminalPath: verifiedTerminal?.path, terminalType: terminalType,
            display: configuration.display, waylandDisplay: configuration.waylandDisplay,
            xAuthority: configuration.xAuthority)
    }

    private func unavailability(_ displayRefusal: DisplayRefusal?) -> PromptUnavailability {
        if case .failure(let refusal) = terminal { return .terminalRefused(refusal) }
        // A display that is named and cannot be used. Without any display there is just nobody to ask.
        if let displayRefusal, displayRefusal != .none, displayRefusal != .noActiveSession {
            return .displayRefused(displayRefusal)
        }
        let couldPinentryAsk = isTyped && (configuration.hasDisplay || verifiedTerminal != nil)
        guard let pinentryDistrust, couldPinentryAsk, configuration.frontEnds.contains(.pinentry) else {
            return .notInteractive
        }
        if case .missing = pinentryDistrust { return .dialogFailed }
        return .untrusted(pinentryDistrust)
    }
}
