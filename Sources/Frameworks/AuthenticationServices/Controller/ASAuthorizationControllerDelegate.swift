public import Foundation

/// Learns how a controller's requests end (Apple's `ASAuthorizationControllerDelegate`). Both functions may be left out.
@MainActor
public protocol ASAuthorizationControllerDelegate: NSObjectProtocol {
    /// The person authorized; `authorization.credential` has the result.
    func authorizationController(
        controller: ASAuthorizationController, didCompleteWithAuthorization authorization: ASAuthorization)

    /// Nothing was authorized; `error` is an ``ASAuthorizationError``.
    func authorizationController(controller: ASAuthorizationController, didCompleteWithError error: any Error)
}

extension ASAuthorizationControllerDelegate {
    public func authorizationController(
        controller: ASAuthorizationController, didCompleteWithAuthorization authorization: ASAuthorization
    ) {}

    public func authorizationController(
        controller: ASAuthorizationController, didCompleteWithError error: any Error
    ) {}
}

/// Names the window of a request (Apple's protocol of the same name). Nothing here needs one, so it is never asked.
@MainActor
public protocol ASAuthorizationControllerPresentationContextProviding: NSObjectProtocol {
    func presentationAnchor(for controller: ASAuthorizationController) -> ASPresentationAnchor
}
