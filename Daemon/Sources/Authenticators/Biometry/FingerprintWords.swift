import FingerprintReader
import PromptProtocol

/// What a question says of the fingerprint reader.
struct FingerprintWords {
    /// Whether the last thing that was said is about a finger that was not recognised; an invitation must not replace it.
    private var hasSaidMiss = false
    private var badTouches = BadTouches()

    static func invitation(_ reader: ReaderDescription?) -> DisplayText {
        DisplayText(
            reader?.scanType == .swipe
                ? "Swipe your finger over the fingerprint reader." : "Touch the fingerprint reader.")
    }

    static let waiting = DisplayText("Another question waits for a finger; this one is next.")

    static func miss(triesLeft: Int) -> DisplayText {
        guard triesLeft > 0 else { return DisplayText("Not recognised.") }
        return DisplayText("Not recognised. \(triesLeft == 1 ? "1 try" : "\(triesLeft) tries") left.")
    }

    mutating func saidMiss() { hasSaidMiss = true }

    /// Nil when there is nothing new to say.
    mutating func text(for event: ClaimedReader.VerificationEvent) -> DisplayText? {
        switch event {
        case .armed: return nil
        case .expects(let finger):
            return hasSaidMiss ? nil : DisplayText("Use your \(finger.title) on the fingerprint reader.")
        case .hint(let hint): return DisplayText(badTouches.words(for: hint))
        }
    }
}
