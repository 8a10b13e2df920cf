@testable import AuthenticationServices
import Foundation
import Testing

/// Calls for services that Linux does not have: each compiles, and says that nothing is there.
@Suite("Unavailable services", .timeLimit(.minutes(10)))
@MainActor
struct UnavailableServicesTests {
    private func cause(_ call: () async throws -> Any) async -> String? {
        do {
            _ = try await call()
            return nil
        } catch {
            guard let error = error as? ASAuthorizationError, error.code == .notHandled else { return "\(error)" }
            return error.cause
        }
    }

    @Test func `Sign in with Apple is not handled, and no account counts as revoked`() async throws {
        let provider = ASAuthorizationAppleIDProvider()
        let request = provider.createRequest()
        request.requestedScopes = [.fullName, .email]
        (request.nonce, request.state, request.user) = ("nonce", "state", "user")
        #expect(request.requestedScopes == [.fullName, .email] && request.requestedOperation == .operationImplicit)
        #expect(request.nonce == "nonce" && request.state == "state" && request.user == "user")
        let service = ScriptedService()
        let controller = AuthorizationController(service: service)
        #expect(await cause { try await controller.performRequest(request) } == "apple-id.unavailable")
        let password = ASAuthorizationPasswordProvider().createRequest()
        #expect(await cause { try await controller.performRequests([password, request]) } == "apple-id.unavailable")
        #expect(await cause { try await controller.performRequest(password) } == "request.not-handled")
        #expect(service.registrations.isEmpty && service.assertions.isEmpty)
        let refusal = await cause { try await ASAuthorizationAppleIDProvider().credentialState(forUserID: "user") }
        #expect(refusal == "apple-id.unavailable")
        let (state, error) = await withCheckedContinuation { continuation in
            provider.getCredentialState(forUserID: "user") { continuation.resume(returning: ($0, $1)) }
        }
        #expect(state == .notFound && (error as? ASAuthorizationError)?.code == .notHandled)
    }

    @Test func `beside a passkey, Sign in with Apple is passed over`() async throws {
        let passkeys = ASAuthorizationPlatformPublicKeyCredentialProvider(relyingPartyIdentifier: "example.com")
        let service = ScriptedService()
        let requests: [ASAuthorizationRequest] = [
            ASAuthorizationAppleIDProvider().createRequest(),
            passkeys.createCredentialAssertionRequest(challenge: Data([1])),
        ]
        _ = try? await AuthorizationController(service: service).performRequests(requests)
        #expect(service.assertions.count == 1)
    }

    @Test func `no report about a passkey changes one`() async {
        let updater = ASCredentialUpdater()
        let causes = [
            await cause {
                try await updater.reportUnknownPublicKeyCredential(
                    relyingPartyIdentifier: "example.com", credentialID: Data([1]))
            },
            await cause {
                try await updater.reportAllAcceptedPublicKeyCredentials(
                    relyingPartyIdentifier: "example.com", userHandle: Data([1]), acceptedCredentialIDs: [])
            },
            await cause {
                try await updater.reportPublicKeyCredentialUpdate(
                    relyingPartyIdentifier: "example.com", userHandle: Data([1]), newName: "n")
            },
            await cause { try await updater.reportUnusedPasswordCredential(domain: "example.com", userName: "n") },
        ]
        #expect(causes == Array(repeating: "updater.unavailable", count: 4))
    }

    private final class Delegate: NSObject, ASAuthorizationControllerDelegate {
        private let tell: (any Error) -> Void

        init(_ tell: @escaping (any Error) -> Void) { self.tell = tell }

        func authorizationController(controller: ASAuthorizationController, didCompleteWithError error: any Error) {
            tell(error)
        }
    }

    @Test func `credentials beside a text field are not offered`() async {
        let passkeys = ASAuthorizationPlatformPublicKeyCredentialProvider(relyingPartyIdentifier: "example.com")
        let service = ScriptedService()
        let controller = ASAuthorizationController(
            authorizationRequests: [passkeys.createCredentialAssertionRequest(challenge: Data([1]))], service: service)
        var delegate: Delegate?
        let error: any Error = await withCheckedContinuation { continuation in
            delegate = Delegate { continuation.resume(returning: $0) }
            controller.delegate = delegate
            controller.performAutoFillAssistedRequests()
        }
        #expect((error as? ASAuthorizationError)?.cause == "autofill.unavailable")
        #expect(service.assertions.isEmpty && delegate != nil)
    }
}
