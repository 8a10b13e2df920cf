public import Foundation

/// Tells the keeper of credentials what a relying party knows (Apple's `ASCredentialUpdater`).
///
/// Every call throws ``ASAuthorizationError/notHandled`` and changes nothing. A report could only remove or rename a passkey, and here
/// its owner does that (`ostiary passkey`): a program's word must not destroy a key.
public final class ASCredentialUpdater: Sendable {
    public init() {}

    public func reportUnknownPublicKeyCredential(relyingPartyIdentifier: String, credentialID: Data) async throws {
        throw Self.unavailable
    }

    public func reportAllAcceptedPublicKeyCredentials(
        relyingPartyIdentifier: String, userHandle: Data, acceptedCredentialIDs: [Data]
    ) async throws { throw Self.unavailable }

    public func reportPublicKeyCredentialUpdate(
        relyingPartyIdentifier: String, userHandle: Data, newName: String
    ) async throws { throw Self.unavailable }

    public func reportUnusedPasswordCredential(domain: String, userName: String) async throws {
        throw Self.unavailable
    }

    private static var unavailable: ASAuthorizationError {
        ErrorTranslation.refusal(
            .notHandled, cause: "updater.unavailable",
            "Passkeys are changed by their owner alone; tell the person to run “ostiary passkey list”.")
    }
}
