import PAMBiometry
import PromptProtocol

/// What a question says while a face is looked for.
struct FaceWords {
    private var hasSaidMiss = false

    static let invitation = DisplayText("Look at the camera.")
    static let waiting = DisplayText("Another question waits for a face; this one is next.")

    mutating func saidMiss() { hasSaidMiss = true }

    /// What the service's module says; nil when it must not replace that somebody was not recognised.
    func text(for text: PAMText) -> DisplayText? { hasSaidMiss && !text.isError ? nil : text.text }
}
