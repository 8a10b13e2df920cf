/// The async way to ask (Apple's `AuthorizationController`, which SwiftUI's environment gives there; here a program makes it).
@MainActor
public struct AuthorizationController {
    private let service: any CredentialService

    public init() { service = DaemonCredentials() }

    package init(service: any CredentialService) { self.service = service }

    /// Asks the person, and returns the authorization. Cancelling the task ends the question.
    ///
    /// - Throws: an ``ASAuthorizationError``.
    public func performRequest(_ request: ASAuthorizationRequest) async throws -> ASAuthorizationResult {
        try await performRequests([request])
    }

    /// As ``performRequest(_:)``, with options.
    public func performRequest(
        _ request: ASAuthorizationRequest, options: ASAuthorizationController.RequestOptions
    ) async throws -> ASAuthorizationResult { try await performRequests([request], options: options) }

    /// As ``performRequest(_:)``; one of the requests is answered.
    public func performRequests(_ requests: [ASAuthorizationRequest]) async throws -> ASAuthorizationResult {
        try await performRequests(requests, options: [])
    }

    /// As ``performRequests(_:)``, with options.
    public func performRequests(
        _ requests: [ASAuthorizationRequest], options: ASAuthorizationController.RequestOptions
    ) async throws -> ASAuthorizationResult {
        let copies = requests.map { $0.copy() as! ASAuthorizationRequest }
        let authorization = try await ASAuthorizationController.authorization(for: copies, options, through: service)
            .get()
        return try ASAuthorizationResult(authorization)
    }
}

/// An authorization (Apple's `ASAuthorizationResult`, without the cases that only Apple's services bring).
public enum ASAuthorizationResult: Sendable {
    case password(ASPasswordCredential)
    case passkeyAssertion(ASAuthorizationPlatformPublicKeyCredentialAssertion)
    case passkeyRegistration(ASAuthorizationPlatformPublicKeyCredentialRegistration)
    case securityKeyAssertion(ASAuthorizationSecurityKeyPublicKeyCredentialAssertion)
    case securityKeyRegistration(ASAuthorizationSecurityKeyPublicKeyCredentialRegistration)

    init(_ authorization: ASAuthorization) throws {
        switch authorization.credential {
        case let credential as ASPasswordCredential: self = .password(credential)
        case let credential as ASAuthorizationPlatformPublicKeyCredentialAssertion: self = .passkeyAssertion(credential)
        case let credential as ASAuthorizationPlatformPublicKeyCredentialRegistration:
            self = .passkeyRegistration(credential)
        case let credential as ASAuthorizationSecurityKeyPublicKeyCredentialAssertion:
            self = .securityKeyAssertion(credential)
        case let credential as ASAuthorizationSecurityKeyPublicKeyCredentialRegistration:
            self = .securityKeyRegistration(credential)
        default:
            throw ErrorTranslation.refusal(
                .invalidResponse, cause: "daemon.unexpected-answer", "The credential is of an unknown kind.")
        }
    }
}
