import Cancellations
import Foundation
import OstiaryClient
import OstiaryMessages

/// The requests of one controller, as one question to the daemon.
struct PreparedRequest: Sendable {
    private enum Message: Sendable {
        case registration(WireRegisterCredentialRequest)
        case assertion(WireAssertCredentialRequest)
    }

    private let message: Message
    private let requests: Chosen
    /// The domain that the requests are about.
    let relyingParty: String

    /// - Throws: an ``ASAuthorizationError`` for requests that cannot be answered together, or not here.
    init(_ requests: [ASAuthorizationRequest], onlyIfAtHand: Bool) throws {
        let chosen = Chosen(requests)
        self.requests = chosen
        let creations = [
            chosen.keyRegistration?.fields.all.message(.crossPlatform),
            chosen.passkeyRegistration?.fields.all.message(.platform),
        ].compactMap(\.self)
        let assertions = [
            chosen.keyAssertion?.fields.all.message(.crossPlatform),
            chosen.passkeyAssertion?.fields.all.message(.platform),
        ].compactMap(\.self)
        guard creations.isEmpty || assertions.isEmpty else {
            throw ErrorTranslation.refusal(
                .failed, cause: "request.mixed", "A controller either registers or signs in; use two controllers.")
        }
        if creations.isEmpty, assertions.isEmpty, requests.contains(where: { $0 is ASAuthorizationAppleIDRequest }) {
            throw ASAuthorizationAppleIDProvider.unavailable
        }
        guard let relyingParty = creations.first?.relyingPartyID ?? assertions.first?.relyingPartyID else {
            throw ErrorTranslation.refusal(
                .notHandled, cause: "request.not-handled",
                "Nothing here answers such a request; use one for a security key or a passkey.")
        }
        // Nothing is registered without a question.
        guard chosen.passkeyRegistration?.requestStyle != .conditional else {
            throw ErrorTranslation.refusal(
                .notInteractive, cause: "request.conditional",
                "A passkey is registered only after a question, so a conditional request is not answered.")
        }
        self.relyingParty = relyingParty
        message =
            assertions.isEmpty
            ? .registration(.with { ($0.creations, $0.onlyIfAtHand) = (creations, onlyIfAtHand) })
            : .assertion(.with { ($0.assertions, $0.onlyIfAtHand) = (assertions, onlyIfAtHand) })
    }

    /// Asks, and blocks until the person has answered.
    func authorization(through service: any CredentialService, _ cancellation: Cancellation) throws -> ASAuthorization {
        switch message {
        case .registration(let request):
            let (answer, keys) = try service.register(request, cancellation: cancellation, outputs: { PRFKeys($0) })
            let fields = RegisteredFields(answer, keys)
            return ASAuthorization(
                provider: try provider(
                    fields.isPlatform ? requests.passkeyRegistration : requests.keyRegistration),
                credential: fields.credential)
        case .assertion(let request):
            let (answer, keys) = try service.assert(request, cancellation: cancellation, outputs: { PRFKeys($0) })
            let asked = request.assertions.first { $0.attachment == answer.attachment }
            let fields = AssertedFields(answer, keys, readsLargeBlob: asked?.readsLargeBlob == true)
            return ASAuthorization(
                provider: try provider(fields.isPlatform ? requests.passkeyAssertion : requests.keyAssertion),
                credential: fields.credential)
        }
    }

    /// An answer of another kind than the requests were is none.
    private func provider(_ request: ASAuthorizationRequest?) throws -> any ASAuthorizationProvider {
        guard let request else {
            throw ErrorTranslation.refusal(
                .invalidResponse, cause: "daemon.unexpected-answer",
                "The daemon's answer does not fit the request; restart the daemon.")
        }
        return request.provider
    }

    /// The first request of each kind.
    private struct Chosen: Sendable {
        let keyRegistration: ASAuthorizationSecurityKeyPublicKeyCredentialRegistrationRequest?
        let passkeyRegistration: ASAuthorizationPlatformPublicKeyCredentialRegistrationRequest?
        let keyAssertion: ASAuthorizationSecurityKeyPublicKeyCredentialAssertionRequest?
        let passkeyAssertion: ASAuthorizationPlatformPublicKeyCredentialAssertionRequest?

        init(_ requests: [ASAuthorizationRequest]) {
            func first<Request>(_ type: Request.Type = Request.self) -> Request? {
                requests.lazy.compactMap { $0 as? Request }.first
            }
            keyRegistration = first()
            passkeyRegistration = first()
            keyAssertion = first()
            passkeyAssertion = first()
        }
    }
}
