public import Foundation
public import LocalAuthentication

/// Where the question for a right appears (Apple's `LAPresentationContext`).
///
/// On Apple's systems this is a window of the app, and the system draws the question into it. Here no program gets to show the
/// question: a trusted program asks on the terminal of the app, or in a window of its own. An app can choose between these two.
public final class LAPresentationContext: NSObject, Sendable {
    let offersTerminal: Bool

    private init(offersTerminal: Bool) {
        self.offersTerminal = offersTerminal
        super.init()
    }

    /// Where the owner of the machine wants to be asked (`prompt.front-ends` in `ostiaryd.conf`): usually on the app's terminal,
    /// and where there is none on the desktop. The same as without a context.
    public static let standard = LAPresentationContext(offersTerminal: true)

    /// On the desktop, in a window or in the configured pinentry, even if the app was started on a terminal. Where nobody can be
    /// asked there, authorizing fails with ``LAError/notInteractive``.
    public static let desktop = LAPresentationContext(offersTerminal: false)
}

extension LARight {
    /// Asks the person for the factors that the requirement needs, at the place of `presentationContext` (Apple's
    /// `authorizeWithLocalizedReason:inPresentationContext:completion:`). The rest is as with
    /// `authorize(localizedReason:completion:)`. If an authorization is under way already, its place counts.
    public func authorize(
        localizedReason: String, in presentationContext: LAPresentationContext,
        completion: @escaping @Sendable ((any Error)?) -> Void
    ) {
        authorize(
            localizedReason: localizedReason, offeringTerminal: presentationContext.offersTerminal,
            completion: completion)
    }

    /// As the form with a completion. Cancelling the task ends its wait with ``LAError/appCancel``, and the prompt when nobody
    /// else waits for it.
    nonisolated(nonsending) public func authorize(
        localizedReason: String, in presentationContext: LAPresentationContext
    ) async throws {
        try await authorize(
            localizedReason: localizedReason, offeringTerminal: presentationContext.offersTerminal)
    }
}
