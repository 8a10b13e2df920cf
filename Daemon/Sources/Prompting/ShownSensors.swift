import PromptProtocol

/// The sensors of a question that its front end shows.
struct ShownSensors {
    /// Their indices in the question.
    let indices: [Int]

    /// The update for the front end, which counts only those that it shows; nil when it does not show this one.
    func update(_ update: PromptUpdate) -> PromptUpdate? {
        indices.firstIndex(of: update.sensor).map { PromptUpdate(sensor: $0, text: update.text) }
    }
}
