public import LocalAuthentication

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
