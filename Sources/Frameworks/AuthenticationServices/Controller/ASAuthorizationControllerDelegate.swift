public import Foundation

/// Stands for the window above which Apple's systems put their sheet (Apple's `ASPresentationAnchor`). Here the daemon draws
/// the question where the person is, and ignores the window that the program names.
open class ASPresentationAnchor: NSObject {
    public override init() { super.init() }
}

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
