/// A question that the simulated person was asked.
public struct SimulatedQuestion: Codable, Equatable, Sendable, CustomStringConvertible {
    /// The person's task at a question.
    public enum Kind: String, Codable, Sendable {
        case passcode
        case newPasscode
        case repeatedPasscode
        case applicationPassword
        case newApplicationPassword
        case repeatedApplicationPassword
        /// The PIN of a security key.
        case keyPIN
        /// The owner password of a TPM. The simulated device has no TPM and never asks for it.
        case ownerPassword
        /// The number of one of several options.
        case choice
        /// A warning to agree to.
        case confirmation
        /// To touch the reader or the security key; nothing can be typed.
        case touch
    }

    /// How a question ended.
    public enum End: String, Codable, Sendable {
        /// A finger was recognised.
        case recognized
        /// Something was typed. It may have been wrong: then another question follows.
        case entered
        case confirmed
        case cancelled
        case fallback
        case timedOut
        /// The program or the daemon took it away, for example after too many wrong fingers.
        case takenAway
        /// The script said nothing, or nothing that fits the question. The program's call fails with `notInteractive`.
        case unscripted
    }

    public let kind: Kind
    /// The program that asks, by its path.
    public let program: String
    /// The program's own words: `localizedReason`.
    public let reason: String
    /// The operation that the answer permits, in Ostiary's words.
    public let operation: String
    /// The names of the rights or items that the answer opens, as far as the question shows them.
    public let objects: [String]
    /// Whether a finger may answer, beside typed text.
    public let offersFinger: Bool
    /// Whether the question waits for the security key.
    public let offersSecurityKey: Bool
    /// The fault of the last try; nil at the first one.
    public let notice: String?
    public let triesLeft: Int?
    /// The title of the button that cancels; nil for the usual one.
    public let cancelTitle: String?
    /// The title of the fallback; nil where there is none.
    public let fallbackTitle: String?
    /// The question's lines about the reader while it was visible, for example "Not recognised. 2 tries left."
    public var readerTexts: [String] = []
    /// Nil while it is visible.
    public var end: End?

    public init(
        kind: Kind, program: String, reason: String, operation: String, objects: [String], offersFinger: Bool,
        offersSecurityKey: Bool = false, notice: String?, triesLeft: Int?, cancelTitle: String?, fallbackTitle: String?
    ) {
        self.kind = kind
        self.program = program
        self.reason = reason
        self.operation = operation
        self.objects = objects
        self.offersFinger = offersFinger
        self.offersSecurityKey = offersSecurityKey
        self.notice = notice
        self.triesLeft = triesLeft
        self.cancelTitle = cancelTitle
        self.fallbackTitle = fallbackTitle
    }

    /// For example: passcode, or a finger, to “open the notes”, for /path/of/program.
    public var description: String {
        let finger = offersFinger && kind != .touch ? ", or a finger," : ""
        return "\(kind.rawValue)\(finger) to “\(reason)” (\(operation)), for \(program)"
    }
}
