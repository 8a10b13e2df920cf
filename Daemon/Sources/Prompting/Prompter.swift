public import ProcessFacts
public import PromptProtocol
public import SecretMemory

/// Asks people questions. The daemon's parts know this protocol, but not which front end draws.
public protocol Prompter: Sendable {
    /// Asks `question` at the terminal or display of `caller`, and blocks until there is an outcome.
    ///
    /// Anything but an answer means no: nobody asked, nobody present, no time left.
    ///
    /// - Parameter live: ends the question, changes its text about a sensor, and learns when it is visible.
    func ask(_ question: PromptQuestion, on caller: PromptCaller, live: LiveQuestion) -> PromptOutcome

    /// Why no sensor may wait for a process of the user now, wherever its question is put; nil when one may. Asks nobody.
    func sensorRefusal(ofProcess processID: Int32, of userID: UInt32) -> SensorRefusal?

    /// Prepares to look at the same once more. The result looks at the moment when it is called, and is quicker than
    /// ``sensorRefusal(ofProcess:of:)``. Only one thread may use it.
    func laterSensorRefusal(ofProcess processID: Int32, of userID: UInt32) -> () -> SensorRefusal?

    /// Whether there is a trusted place on this machine.
    var hasTrustedPlace: Bool { get }

    /// Why the user cannot be asked at the trusted place for this process now; nil when they can. Asks nobody.
    func placeRefusal(ofProcess processID: Int32, of userID: UInt32) -> PlaceRefusal?

    /// Drops all that is kept for questions to the user, whose account was closed. A later question begins like the first one.
    func forget(_ userID: UInt32)
}

extension Prompter {
    public func sensorRefusal(ofProcess processID: Int32, of userID: UInt32) -> SensorRefusal? { nil }

    public func laterSensorRefusal(ofProcess processID: Int32, of userID: UInt32) -> () -> SensorRefusal? {
        { self.sensorRefusal(ofProcess: processID, of: userID) }
    }

    public var hasTrustedPlace: Bool { false }
    public func placeRefusal(ofProcess processID: Int32, of userID: UInt32) -> PlaceRefusal? { .absent }
    public func forget(_ userID: UInt32) {}
}

/// How a question ended.
public enum PromptOutcome: ~Copyable, Sendable {
    /// The person typed something, for one factor.
    case entered(EnteredSecret)
    /// The person confirmed a warning.
    case confirmed
    case cancelled
    /// The person chose the other way that the question offered.
    case fallback
    case timedOut
    /// The question was taken away.
    case interrupted(by: PromptInterruption)
    /// The question was never shown, or not properly.
    case unavailable(PromptUnavailability)
}

/// A typed secret and the factor that the question asked for. It is released for that factor only.
public struct EnteredSecret: ~Copyable, Sendable {
    /// The factor of the field that it was typed into.
    public let factor: PromptFactor
    /// The sheet that it was typed into, which stays on the screen as long as this object exists; nil for other front ends.
    public let sheet: HeldSheet?
    private let bytes: SecretBytes

    public init(_ bytes: consuming SecretBytes, for factor: PromptFactor, on sheet: HeldSheet? = nil) {
        self.bytes = bytes
        (self.factor, self.sheet) = (factor, sheet)
    }

    /// The bytes as typed, not checked for UTF-8, never empty. If `factor` is not the factor that was asked for,
    /// returns nil and wipes them.
    public consuming func take(for factor: PromptFactor) -> SecretBytes? {
        guard factor == self.factor else { return nil }
        return bytes
    }
}

/// Why a question was taken away.
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
    /// Another console has the screen.
    case switchedAway
    /// A sensor recognised the person while the question was visible, so nobody needs to type.
    case proved
    /// The prompt's process was killed, or ended without an outcome.
    case promptEnded
}

/// Why a question could not be asked.
public enum PromptUnavailability: Error, Equatable, Sendable {
    /// The prompter asks another user than the caller's.
    case otherUser
    /// The caller has no terminal, and there is no dialog program.
    case notInteractive
    /// Only a sensor could answer, and none may wait.
    case sensorRefused(SensorRefusal)
    /// The caller passed an unusable terminal, and there is no other way to ask.
    case terminalRefused(TerminalRefusal)
    /// The configured dialog program is missing, or did not speak its protocol.
    case dialogFailed
    /// Somebody else could have written the configured dialog program.
    case untrusted(ProgramDistrust)
    /// There is a display, but it cannot be used.
    case displayRefused(DisplayRefusal)
    /// The question must be put at the trusted place, or nowhere else, and cannot be.
    case placeRefused(PlaceRefusal)
    /// `ostiary-prompt` or `ostiary-sheet` could not be started, or did not understand the request; and why.
    case promptFailed(reason: String)
    /// The terminal or the dialog is too small for the whole question.
    case unshowable
    /// Several questions of this program in a row were cancelled or ignored.
    case coolingDown(remaining: Duration)
    /// Too many questions are waiting or visible, of this program or of all.
    case tooManyWaiting
}
