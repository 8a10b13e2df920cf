import ProcessFacts
import PromptProtocol
import Settings

/// Chooses how to ask: the first configured way that works here, and before the others one that shows the question's sensors.
/// Pure: the caller says which files exist.
struct FrontEndChoice {
    let configuration: PromptConfiguration
    /// The caller's terminal after its check; nil when the caller passed none.
    let terminal: Result<VerifiedTerminal, TerminalRefusal>?
    let terminalType: TerminalType
    /// Whether the question is put at the trusted place or not at all.
    var isAtTrustedPlace = false
    /// The trusted place, looked for only where it is wanted.
    var findPlace: () -> Result<TrustedPlaceOptions, PlaceRefusal> = { .failure(.absent) }
    /// Whether the person answers with keys. A pinentry can show only such questions, because it does not report when
    /// it is visible.
    var isTyped = true
    /// Whether any program could answer it on a terminal that the program made, see ``PromptQuestion/isUnproved``.
    var isUnproved = false
    /// Whether the terminal is one that somebody logged in on.
    var isLoginTerminal = false
    /// Whether the question has sensors that may be armed for the caller's process.
    var hasSensors = false
    /// Whether a sensor may be used on the terminal.
    var isTerminalForSensors = true
    /// Whether a sensor may be used beside a dialog.
    var isDialogForSensors = true
    /// Why the configured pinentry must not be started; nil when it may be, or when none is configured.
    let pinentryDistrust: ProgramDistrust?
    /// The display for a sheet, looked for only when no way before the sheet works.
    var findDisplay: () -> Result<SheetOptions.Display, DisplayRefusal> = { .failure(.none) }
    /// The bus of a screen reader, looked for only when there is a sheet.
    var findAccessibilityBus: () -> String? = { nil }
    /// The language of the person, looked for only when there is a sheet.
    var findLanguage: () -> SheetLanguage = { .english }

    private var verifiedTerminal: VerifiedTerminal? { try? terminal?.get() }

    /// The way to ask, or the reason why there is none.
    func choose() -> Result<PromptFrontEnd, PromptUnavailability> {
        if isAtTrustedPlace {
            return findPlace().map(PromptFrontEnd.trustedPlace).mapError(PromptUnavailability.placeRefused)
        }
        if isUnproved, !isLoginTerminal, let dialog { return .success(dialog) }
        var displayRefusal: DisplayRefusal?
        var placeRefusal: PlaceRefusal?
        for frontEnd in order {
            switch frontEnd {
            case .terminal:
                if verifiedTerminal != nil { return .success(.terminal) }
            case .pinentry: if let options = pinentryOptions { return .success(.pinentry(options)) }
            case .sheet:
                switch findDisplay() {
                case .success(let display): return .success(.sheet(options(of: display)))
                case .failure(let refusal): displayRefusal = refusal
                }
            case .vt:
                switch findPlace() {
                case .success(let options): return .success(.trustedPlace(options))
                case .failure(let refusal): placeRefusal = refusal
                }
            }
        }
        return .failure(unavailability(displayRefusal, placeRefusal))
    }

    /// The configured ways in their order. A way that drops the sensors would have the person type what a touch could prove, so the
    /// ways that show them come first. Where nothing can be typed, they are the only ones.
    private var order: [PromptConfiguration.FrontEnd] {
        let ways = configuration.frontEnds.filter { isTyped || showsSensors($0) }
        return hasSensors ? ways.filter(showsSensors) + ways.filter { !showsSensors($0) } : ways
    }

    private func showsSensors(_ frontEnd: PromptConfiguration.FrontEnd) -> Bool {
        switch frontEnd {
        case .terminal: isTerminalForSensors
        // It does not report when it is visible.
        case .pinentry: false
        case .sheet, .vt: isDialogForSensors
        }
    }

    /// A configured dialog that is not on the caller's terminal, the trusted place before others.
    private var dialog: PromptFrontEnd? {
        if configuration.frontEnds.contains(.vt), case .success(let options) = findPlace() {
            return .trustedPlace(options)
        }
        if configuration.hasDisplay, configuration.frontEnds.contains(.pinentry), let options = pinentryOptions {
            return .pinentry(options)
        }
        guard configuration.frontEnds.contains(.sheet), case .success(let display) = findDisplay() else { return nil }
        return .sheet(options(of: display))
    }

    private func options(of display: SheetOptions.Display) -> SheetOptions {
        SheetOptions(
            display: display, isDark: configuration.sheetIsDark, textPercent: configuration.sheetTextPercent,
            accessibilityBus: findAccessibilityBus(), language: findLanguage())
    }

    private var pinentryOptions: PinentryOptions? {
        guard isTyped, let program = configuration.pinentryPath, pinentryDistrust == nil else { return nil }
        guard configuration.hasDisplay || verifiedTerminal != nil else { return nil }
        return PinentryOptions(
            program: program, terminalPath: verifiedTerminal?.path, terminalType: terminalType,
            display: configuration.display, waylandDisplay: configuration.waylandDisplay,
            xAuthority: configuration.xAuthority)
    }

    private func unavailability(
        _ displayRefusal: DisplayRefusal?, _ placeRefusal: PlaceRefusal?
    ) -> PromptUnavailability {
        if verifiedTerminal != nil, !isTyped, !isTerminalForSensors { return .sensorRefused(.terminalForbidden) }
        if case .failure(let refusal) = terminal { return .terminalRefused(refusal) }
        // Name the reason only for a display that exists. Without one, nobody can be asked.
        if let displayRefusal, ![.none, .noneOfSession, .noActiveSession].contains(displayRefusal) {
            return .displayRefused(displayRefusal)
        }
        if let placeRefusal { return .placeRefused(placeRefusal) }
        let couldPinentryAsk = isTyped && (configuration.hasDisplay || verifiedTerminal != nil)
        guard let pinentryDistrust, couldPinentryAsk, configuration.frontEnds.contains(.pinentry) else {
            return .notInteractive
        }
        if case .missing = pinentryDistrust { return .dialogFailed }
        return .untrusted(pinentryDistrust)
    }
}
