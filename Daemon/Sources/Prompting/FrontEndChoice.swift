import PromptProtocol

/// Chooses how to ask: the first configured way that works here. Pure; whether files exist is told by its caller.
struct FrontEndChoice {
    let configuration: PromptConfiguration
    /// The caller's terminal as checked; nil when it passed none.
    let terminal: Result<VerifiedTerminal, TerminalRefusal>?
    let terminalType: TerminalType
    let isPinentryThere: Bool

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
        guard let program = configuration.pinentryPath, isPinentryThere else { return nil }
        guard configuration.hasDisplay || verifiedTerminal != nil else { return nil }
        return PinentryOptions(
            program: program, terminalPath: verifiedTerminal?.path, terminalType: terminalType,
            display: configuration.display, waylandDisplay: configuration.waylandDisplay,
            xAuthority: configuration.xAuthority)
    }

    private var unavailability: PromptUnavailability {
        if case .failure(let refusal) = terminal { return .terminalRefused(refusal) }
        let isPinentryMissing = configuration.pinentryPath != nil && !isPinentryThere
        let couldPinentryAsk = configuration.hasDisplay || verifiedTerminal != nil
        return isPinentryMissing && couldPinentryAsk && configuration.frontEnds.contains(.pinentry)
            ? .dialogFailed : .notInteractive
    }
}
