package import AuthenticatorRequests
package import Cancellations

/// What the user is asked to agree to.
package struct InteractionRequest: Sendable {
    package enum Purpose: Sendable {
        /// `management`: to see, rename and remove all credentials, without another question.
        case makeCredential, getAssertion, permissions, management, selection, reset
    }

    package var purpose: Purpose
    /// nil where the command names none.
    package var relyingParty: RelyingPartyName?
    package var user: CredentialUser?
    /// The credentials that will be used, if the command names them.
    package var credentials: [[UInt8]] = []
    /// The accounts whose credentials will be destroyed, under the names that they were stored with.
    package var replaced: [CredentialUser] = []
}

/// Touches and verification on the authenticator itself. The calls block until the user did something.
package protocol UserInteraction: Sendable {
    /// Waits for a touch.
    ///
    /// - Throws: ``CTAPStatus/userActionTimeout``, ``CTAPStatus/operationDenied``, ``CTAPStatus/keepaliveCancel``.
    func confirmPresence(
        for request: InteractionRequest, until cancellation: Cancellation
    ) throws(CTAPStatus) -> (any UserProof)?

    /// Whether the authenticator verifies users itself: nil if it cannot, false while nothing is enrolled.
    var isVerificationReady: Bool? { get }
    /// Tries left of that verification; 0 while ``verify(for:until:)`` would refuse before it looks at the user.
    var verificationTriesLeft: Int { get }

    /// Verifies the user, who is then present too.
    ///
    /// - Throws: as ``confirmPresence(for:until:)``, and ``CTAPStatus/verificationInvalid``,
    ///   ``CTAPStatus/verificationBlocked``.
    func verify(
        for request: InteractionRequest, until cancellation: Cancellation
    ) throws(CTAPStatus) -> (any UserProof)?
}
