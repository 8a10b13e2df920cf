package import OstiaryClient

/// The type of an `LAContext` in calls of CryptoKit. Give an `LAContext`; any other object is refused with `errSecParam`.
///
/// CryptoKit does not name `LAContext` itself: LocalAuthentication has a C module, and packages that find CryptoKit without
/// depending on it could not load it then.
public protocol AuthenticationContextProtocol: AnyObject {}

/// An `LAContext` as this module sees it, because it cannot import LocalAuthentication: a place in the daemon that
/// keeps proofs, and the words of its prompts. It may be used from several threads.
package protocol AuthenticationContext: AuthenticationContextProtocol {
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
