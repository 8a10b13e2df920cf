package import OstiaryMessages
package import PromptProtocol
package import Refusals

/// How the program wants to be represented in the prompt, made harmless.
package struct QuestionStyle {
    /// Empty when the program gave nothing that can be shown; the prompt then has no line for it.
    package let reason: DisplayText
    package let isInteractionAllowed: Bool
    package let cancelTitle: DisplayText?
    package let fallbackTitle: DisplayText?
    /// The program wants no fallback, not even one with the usual words.
    package let hidesFallback: Bool

    /// - Throws: `emptyReason` for an empty reason. As on Apple's systems, one of blanks passes; it shows nothing.
    package init(_ question: WireQuestion) throws(Refusal) {
        reason = DisplayText(showing: question.reason)
        isInteractionAllowed = !question.interactionNotAllowed
        cancelTitle = Self.title(question.cancelTitle)
        hidesFallback = question.hidesFallback
        fallbackTitle = question.hidesFallback ? nil : Self.title(question.fallbackTitle)
        guard question.reason.utf8.count <= WireLimits.reasonByteCount else {
            throw Refusal(.tooLarge, "The reason is too long; it may have at most \(WireLimits.reasonByteCount) bytes.")
        }
        guard !question.reason.isEmpty else {
            throw Refusal(.emptyReason, "The reason is empty; say why you ask.", cause: "reason.empty")
        }
    }

    /// Of a request that brought no question: nobody is asked.
    package static let askingNobody = QuestionStyle(isInteractionAllowed: false)
    /// Of a request whose program says nothing of its own.
    package static let withoutReason = QuestionStyle(isInteractionAllowed: true)

    private init(isInteractionAllowed: Bool) {
        self.isInteractionAllowed = isInteractionAllowed
        (reason, cancelTitle, fallbackTitle) = (DisplayText(""), nil, nil)
        hidesFallback = true
    }

    private static func title(_ text: String) -> DisplayText? {
        let title = DisplayText(text, maximumScalarCount: 40)
        return title.isEmpty ? nil : title
    }
}
