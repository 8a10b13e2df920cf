// The flows of Apple's article "Supporting Security Key Authentication Using Physical Keys", the way they are written for
// macOS: register a new account, connect with an existing one, respond to the result.
import AuthenticationServices

/// Registers accounts and signs in, with a security key or with a passkey of this machine.
@MainActor
public final class AccountManager: NSObject {
    /// The data for the relying party's check of a registration or a sign-in, and no more.
    public enum Outcome: Sendable {
        case registered(id: Data, clientData: Data, attestationObject: Data)
        case signedIn(id: Data, userID: Data, clientData: Data, authenticatorData: Data, signature: Data)
    }

    /// The place of the credentials.
    public enum Authenticator: Sendable { case securityKey, platform }

    private let relyingParty: String
    private let authenticator: Authenticator
    private var continuation: CheckedContinuation<Outcome, any Error>?

    /// - Parameter relyingParty: the domain of the service.
    public init(relyingParty: String, authenticator: Authenticator = .securityKey) {
        self.relyingParty = relyingParty
        self.authenticator = authenticator
    }

    /// Registers a new account. The challenge and the account's handle come from the server.
    public func register(challenge: Data, displayName: String, name: String, userID: Data) async throws -> Outcome {
        switch authenticator {
        case .securityKey:
            let provider = ASAuthorizationSecurityKeyPublicKeyCredentialProvider(relyingPartyIdentifier: relyingParty)
            let request = provider.createCredentialRegistrationRequest(
                challenge: challenge, displayName: displayName, name: name, userID: userID)
            request.credentialParameters = [
                ASAuthorizationPublicKeyCredentialParameters(algorithm: ASCOSEAlgorithmIdentifier.ES256)
            ]
            request.attestationPreference = .direct
            request.residentKeyPreference = .preferred
            return try await perform(request)
        case .platform:
            let provider = ASAuthorizationPlatformPublicKeyCredentialProvider(relyingPartyIdentifier: relyingParty)
            let request = provider.createCredentialRegistrationRequest(
                challenge: challenge, name: name, userID: userID)
            request.displayName = displayName
            request.attestationPreference = .direct
            return try await perform(request)
        }
    }

    /// Connects with an account that was registered before. The challenge comes from the server.
    ///
    /// - Parameter credentials: of the account; empty if the key shall name the account.
    public func signIn(challenge: Data, with credentials: [Data] = []) async throws -> Outcome {
        switch authenticator {
        case .securityKey:
            let provider = ASAuthorizationSecurityKeyPublicKeyCredentialProvider(relyingPartyIdentifier: relyingParty)
            let request = provider.createCredentialAssertionRequest(challenge: challenge)
            request.allowedCredentials = credentials.map {
                ASAuthorizationSecurityKeyPublicKeyCredentialDescriptor(
                    credentialID: $0,
                    transports: ASAuthorizationSecurityKeyPublicKeyCredentialDescriptor.Transport.allSupported)
            }
            return try await perform(request)
        case .platform:
            let provider = ASAuthorizationPlatformPublicKeyCredentialProvider(relyingPartyIdentifier: relyingParty)
            let request = provider.createCredentialAssertionRequest(challenge: challenge)
            request.allowedCredentials = credentials.map(
                ASAuthorizationPlatformPublicKeyCredentialDescriptor.init(credentialID:))
            return try await perform(request)
        }
    }

    private func perform(_ request: ASAuthorizationRequest) async throws -> Outcome {
        try await withCheckedThrowingContinuation { continuation in
            self.continuation = continuation
            let controller = ASAuthorizationController(authorizationRequests: [request])
            controller.delegate = self
            controller.presentationContextProvider = self
            controller.performRequests()
        }
    }

    private func end(_ result: Result<Outcome, any Error>) {
        continuation?.resume(with: result)
        continuation = nil
    }
}

extension AccountManager: ASAuthorizationControllerDelegate {
    public func authorizationController(
        controller: ASAuthorizationController, didCompleteWithAuthorization authorization: ASAuthorization
    ) {
        if let credential = authorization.credential as? any ASAuthorizationPublicKeyCredentialRegistration {
            // The server verifies the attestation object and stores the public key that is in it.
            end(
                .success(
                    .registered(
                        id: credential.credentialID, clientData: credential.rawClientDataJSON,
                        attestationObject: credential.rawAttestationObject ?? Data())))
        } else if let credential = authorization.credential as? any ASAuthorizationPublicKeyCredentialAssertion {
            // The server verifies the signature with the public key that it stored.
            end(
                .success(
                    .signedIn(
                        id: credential.credentialID, userID: credential.userID,
                        clientData: credential.rawClientDataJSON, authenticatorData: credential.rawAuthenticatorData,
                        signature: credential.signature)))
        } else {
            end(.failure(ASAuthorizationError(.unknown)))
        }
    }

    public func authorizationController(controller: ASAuthorizationController, didCompleteWithError error: any Error) {
        end(.failure(error))
    }
}

extension AccountManager: ASAuthorizationControllerPresentationContextProviding {
    public func presentationAnchor(for controller: ASAuthorizationController) -> ASPresentationAnchor {
        ASPresentationAnchor()
    }
}
