package import OstiaryClient

/// An `LAContext` as this module sees it, because it cannot import LocalAuthentication: a place in the daemon that
/// keeps proofs, and the words of its prompts. It may be used from several threads.
package protocol AuthenticationContext: AnyObject {
    /// The context with its settings of now.
    ///
    /// - Throws: an `OstiaryError` when the context was invalidated.
    func authentication() throws -> ContextAuthentication
}

/// A context on the daemon's side, and how the person is asked under it.
package struct ContextAuthentication: Sendable {
    package let context: AuthorizationContext
    /// Its reason is empty when the program set none on the context.
    package let interaction: Interaction

    package init(context: AuthorizationContext, interaction: Interaction) {
        self.context = context
        self.interaction = interaction
    }
}
