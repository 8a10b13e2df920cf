@_exported public import PromptProtocol
public import SecretMemory

/// Puts questions to people. The daemon's parts know this; which front end draws, they do not.
public protocol Prompter: Sendable {
    /// Puts `question` to the person at `caller`'s terminal or display, and blocks until there is an outcome.
    ///
    /// Anything but an answer means no: nobody asked, nobody there, no time left.
    ///
    /// - Parameter live: ends the question, changes what it says of a sensor, and is told when it is visible.
    func ask(_ question: PromptQuestion, on caller: PromptCaller, live: LiveQuestion) -> PromptOutcome
}

/// How a question ended.
public enum PromptOutcome: ~Copyable, Sendable {
    /// Something was typed, for one factor.
    case entered(EnteredSecret)
    /// A warning was confirmed.
    case confirmed
    case cancelled
    /// The other way that the question offered was chosen.
    case fallback
    case timedOut
    /// The question was taken away.
    case interrupted(by: PromptInterruption)
    /// The question was never shown, or could not be put properly.
    case unavailable(PromptUnavailability)
}

/// A typed secret, together with the factor that it was asked for. It is handed over for that factor only.
public struct EnteredSecret: ~Copyable, Sendable {
    /// The factor that the field fed.
    public let factor: PromptFactor
    private let bytes: SecretBytes

    public init(_ bytes: consuming SecretBytes, for factor: PromptFactor) {
        self.bytes = bytes
        self.factor = factor
    }

    /// The bytes as they were typed, neither checked for UTF-8 nor empty; nil, and wiped, when `factor` is not the one that
    /// was asked for.
    public consuming func take(for factor: PromptFactor) -> SecretBytes? {
        guard factor == self.factor else { return nil }
        return bytes
    }
}

/// Who or what took a question away.
public enum PromptInterruption: Equatable, Sendable {
    /// The calling process ended or closed its connection.
    case clientGone
    /// The caller was stopped or is no longer in its terminal's foreground.
    case background
    /// The terminal hung up.
    case terminalGone
    /// Everything was locked.
    case lock
    /// The evaluation was satisfied or ended without this question.
    case superseded
    /// A sensor recognised the person while the question was visible, so nothing need be typed.
    case proved
    /// The prompt's process was killed, or broke off without an outcome.
    case promptEnded
}

/// Why a question could not be put.
public enum PromptUnavailability: Error, Equatable, Sendable {
    /// The caller has no terminal, and there is no dialog program.
    case notInteractive
    /// The caller passed a terminal that must not be used, and there is no other way to ask.
    case terminalRefused(TerminalRefusal)
    /// The configured dialog program is missing, or did not speak its protocol.
    case dialogFailed
    /// Somebody else could have written the configured dialog program.
    case untrusted(ProgramDistrust)
    /// There is a display, but it cannot be used.
    case displayRefused(DisplayRefusal)
    /// `ostiary-prompt` could not be started.
    case promptFailed
    /// The terminal or the dialog has no room for all that must be shown.
    case unshowable
    /// This program's questions were cancelled or left standing several times in a row.
    case coolingDown(remaining: Duration)
    /// Too many questions are waiting or visible, of this program or of all.
    case tooManyWaiting
}
