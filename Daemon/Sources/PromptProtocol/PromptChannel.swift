/// The descriptors that `ostiary-prompt` and `ostiary-sheet` are started with; 0, 1 and 2 are the null device.
public enum PromptDescriptor {
    /// The request is read from here.
    public static let request: Int32 = 3
    /// The typed secret is written here, and only with the outcome ``PromptReply/entered``: two bytes with the number of its
    /// bytes, big-endian, and then these.
    public static let secret: Int32 = 4
    /// Words of one byte: ``PromptReply/shown`` when the question is visible, where the front end can tell, a word for each choice of a
    /// term, and one other ``PromptReply``. That one is written last, after the terminal is as it was before. A sheet goes on after
    /// ``PromptReply/entered``: it stays on the screen until the daemon ends it, or puts the question again.
    public static let reply: Int32 = 5
    /// A socket that takes a ``PromptControl`` as one message. When its other end closes, because the daemon gave up or died,
    /// the prompt ends. Nothing is read from it on the other side.
    public static let control: Int32 = 6
    /// The caller's terminal, or the null device.
    public static let terminal: Int32 = 7
    /// The connected socket of a Wayland compositor, or the null device.
    public static let display: Int32 = 8
    /// The cookies of an X server that the sheet may not read in the user's folder, or the null device.
    public static let cookies: Int32 = 9
    /// How many descriptors the prompt is given.
    public static let count = 10
}

/// A prompt's word: that its question is visible, or how it ended. A prompt that ends without a word was killed.
public enum PromptReply: UInt8, Equatable, Sendable, CaseIterable {
    case entered = 1
    case confirmed = 2
    case cancelled = 3
    case fallback = 4
    case timedOut = 5
    case terminalGone = 6
    /// Told to end: the control pipe closed, or a signal.
    case ended = 7
    /// The dialog program could not be started or did not speak its protocol.
    case dialogFailed = 8
    /// The request could not be read.
    case badRequest = 9
    /// There is no room for what must be shown, so the question was not put.
    case unshowable = 10
    /// The question is on the screen. As a choice of a term, it is not the last word.
    case shown = 11
    /// The display could not be opened, or the trusted place did not come to the screen.
    case displayFailed = 12
    /// Another console has the screen, so the question at the trusted place is not seen any more.
    case switchedAway = 13
    /// The answer is to count once, as it does before any choice.
    case once = 14
    /// The answer is to count as the question's first or second term says.
    case firstTerm = 15
    case secondTerm = 16

    /// The word for the choice of a term.
    ///
    /// - Parameter term: 0 for once, otherwise the place of the term in the question, counted from 1.
    public init?(choosing term: Int) {
        switch term {
        case 0: self = .once
        case 1: self = .firstTerm
        case 2: self = .secondTerm
        default: return nil
        }
    }

    /// The chosen term, as in ``init(choosing:)``; nil for any other word.
    public var chosenTerm: Int? {
        switch self {
        case .once: 0
        case .firstTerm: 1
        case .secondTerm: 2
        default: nil
        }
    }

    /// Whether the prompt says nothing after this word, unless the question is put again.
    public var isLast: Bool { self != .shown && chosenTerm == nil }
}

/// Limits that both sides of a prompt keep.
public enum PromptLimits {
    /// Most bytes that a field takes.
    public static let secretByteCount = 1024
    /// Most bytes of a sign, which stands on one line of a console.
    public static let signByteCount = 48
}
