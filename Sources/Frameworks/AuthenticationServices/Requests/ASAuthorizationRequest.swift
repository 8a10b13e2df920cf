public import Foundation

/// A maker of requests (Apple's `ASAuthorizationProvider`).
public protocol ASAuthorizationProvider: NSObjectProtocol {}

/// The credential that an authorization brings (Apple's `ASAuthorizationCredential`).
public protocol ASAuthorizationCredential: NSObjectProtocol, NSCopying, NSSecureCoding {}

/// A request for an authorization (Apple's `ASAuthorizationRequest`). A provider makes it.
open class ASAuthorizationRequest: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    // SAFETY: (@unchecked) the provider never changes, and subclasses guard their changes by a lock.

    /// The provider that made it.
    public let provider: any ASAuthorizationProvider

    init(provider: any ASAuthorizationProvider) { self.provider = provider }

    /// There is no request without a kind: nil.
    public required init?(coder: NSCoder) { return nil }

    open func copy(with zone: NSZone? = nil) -> Any { self }

    open func encode(with coder: NSCoder) {}

    public class var supportsSecureCoding: Bool { true }
}

/// An authorization that was given (Apple's `ASAuthorization`).
open class ASAuthorization: NSObject, @unchecked Sendable {
    // SAFETY: (@unchecked) nothing of it changes; providers and credentials can be used from any thread.

    /// The provider of the request that was answered.
    public let provider: any ASAuthorizationProvider

    /// The answer: for example an ``ASAuthorizationSecurityKeyPublicKeyCredentialAssertion``.
    public let credential: any ASAuthorizationCredential

    init(provider: any ASAuthorizationProvider, credential: any ASAuthorizationCredential) {
        (self.provider, self.credential) = (provider, credential)
    }
}
