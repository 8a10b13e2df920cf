import PromptProtocol

/// Chooses how to ask: the first configured way that works here. Pure; what files there are is told by its caller.
struct FrontEndChoice {
    let configuration: PromptConfiguration
    /// The caller's terminal as checked; nil when it passed none.
    let terminal: Result<VerifiedTerminal, TerminalRefusal>?
    let terminalType: TerminalType
    /// Whether the person answers with keys. A pinentry can put no other question: it does not tell when it is visible.
    var isTyped = true
    /// Why the configured pinentry must not be started; nil when it may, or when none is configured.
    let pinentryDistrust: ProgramDistrust?

    private var verifiedTerminal: VerifiedTerminal? { try? terminal?.get() }

    /// The way to ask, or why there is none.
    func choose() -> Result<PromptFrontEnd, PromptUnavailability> {
        for frontEnd in configuration.frontEnds {
            switch frontEnd {
            case .terminal: if verifiedTerminal != nil { return .success(.terminal) }
            case .pinentry: if let options = pinentryOptions { return .success(.pinentry(options)) }
            }
        }
        return .failure(unavailability)
    }

    private var pinentryOptions: PinentryOptions? {
        guard isTyped, let program = configuration.pinentryPath, pinentryDistrust == nil else { return nil }
        guard configuration.hasDisplay || verifiedTerminal != nil else { return nil }
        return PinentryOptions(
            program: program, terminalPath: verifiedTerminal?.path, terminalType: terminalType,
            display: configuration.display, waylandDisplay: configuration.waylandDisplay,
            xAuthority: configuration.xAuthority)
    }

    private var unavailability: PromptUnavailability {
        if case .failure(let refusal) = terminal { return .terminalRefused(refusal) }
        let couldPinentryAsk = isTyped && (configuration.hasDisplay || verifiedTerminal != nil)
        guard let pinentryDistrust, couldPinentryAsk, configuration.frontEnds.contains(.pinentry) else {
            return .notInteractive
        }
        if case .missing = pinentryDistrust { return .dialogFailed }
        return .untrusted(pinentryDistrust)
    }
}
