public import Foundation

/// Makes requests for Sign in with Apple (Apple's `ASAuthorizationAppleIDProvider`). Nothing here answers them: Apple's service is
/// for Apple's systems. A request ends with ``ASAuthorizationError/notHandled``.
open class ASAuthorizationAppleIDProvider: NSObject, ASAuthorizationProvider {
    /// What became of a person's account (Apple's `ASAuthorizationAppleIDProvider.CredentialState`).
    public enum CredentialState: Int, Sendable {
        case revoked = 0
        case authorized = 1
        case notFound = 2
        case transferred = 3
    }

    /// Posted on Apple's systems when an account was taken back; never here.
    public static let credentialRevokedNotification = Notification.Name(
        "ASAuthorizationAppleIDCredentialRevokedNotification")

    open func createRequest() -> ASAuthorizationAppleIDRequest { ASAuthorizationAppleIDRequest(provider: self) }

    /// Not known here: throws ``ASAuthorizationError/notHandled``. A program must not take that for an account that was revoked.
    open func credentialState(forUserID userID: String) async throws -> CredentialState { throw Self.unavailable }

    /// As ``credentialState(forUserID:)``: the completion gets ``CredentialState/notFound`` and the error.
    open func getCredentialState(
        forUserID userID: String, completion: @escaping @Sendable (CredentialState, (any Error)?) -> Void
    ) {
        Task.detached { completion(.notFound, ASAuthorizationAppleIDProvider.unavailable) }
    }

    static var unavailable: ASAuthorizationError {
        ErrorTranslation.refusal(
            .notHandled, cause: "apple-id.unavailable",
            "Sign in with Apple does not exist on Linux; offer a passkey or another account.")
    }
}

extension ASAuthorization {
    /// What a program wants to know of a person (Apple's `ASAuthorization.Scope`).
    public struct Scope: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public init(_ rawValue: String) { self.init(rawValue: rawValue) }
        public static let fullName = Scope("full_name")
        public static let email = Scope("email")
    }

    /// What a request of OpenID does (Apple's `ASAuthorization.OpenIDOperation`).
    public struct OpenIDOperation: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public init(_ rawValue: String) { self.init(rawValue: rawValue) }
        public static let operationImplicit = OpenIDOperation("implicit")
        public static let operationLogin = OpenIDOperation("login")
        public static let operationRefresh = OpenIDOperation("refresh")
        public static let operationLogout = OpenIDOperation("logout")
    }
}

/// A request of OpenID (Apple's `ASAuthorizationOpenIDRequest`); see ``ASAuthorizationAppleIDProvider``.
open class ASAuthorizationOpenIDRequest: ASAuthorizationRequest, @unchecked Sendable {
    // SAFETY: (@unchecked) the lock guards every change.
    private struct Fields {
        var scopes: [ASAuthorization.Scope]?
        var state: String?
        var nonce: String?
        var operation = ASAuthorization.OpenIDOperation.operationImplicit
        var user: String?
    }

    private let lock = NSLock()
    private var fields = Fields()

    public var requestedScopes: [ASAuthorization.Scope]? {
        get { lock.withLock { fields.scopes } }
        set { lock.withLock { fields.scopes = newValue } }
    }

    public var state: String? {
        get { lock.withLock { fields.state } }
        set { lock.withLock { fields.state = newValue } }
    }

    public var nonce: String? {
        get { lock.withLock { fields.nonce } }
        set { lock.withLock { fields.nonce = newValue } }
    }

    public var requestedOperation: ASAuthorization.OpenIDOperation {
        get { lock.withLock { fields.operation } }
        set { lock.withLock { fields.operation = newValue } }
    }

    fileprivate var keptUser: String? {
        get { lock.withLock { fields.user } }
        set { lock.withLock { fields.user = newValue } }
    }
}

/// A request for Sign in with Apple (Apple's `ASAuthorizationAppleIDRequest`). Beside another request it is passed over; alone it
/// ends with ``ASAuthorizationError/notHandled``.
open class ASAuthorizationAppleIDRequest: ASAuthorizationOpenIDRequest, @unchecked Sendable {
    /// The account that the program knows.
    public var user: String? {
        get { keptUser }
        set { keptUser = newValue }
    }
}

/// Whether somebody seems to be a person (Apple's `ASUserDetectionStatus`).
public enum ASUserDetectionStatus: Int, Sendable {
    case unsupported = 0
    case unknown = 1
    case likelyReal = 2
}

/// What Sign in with Apple brings (Apple's `ASAuthorizationAppleIDCredential`). Nothing here makes one, so code that looks for it
/// compiles and finds none.
open class ASAuthorizationAppleIDCredential: NSObject, ASAuthorizationCredential, @unchecked Sendable {
    // SAFETY: (@unchecked) nothing of it changes, and there is no instance.

    /// There is none: nil. No other initializer exists.
    public required init?(coder: NSCoder) { return nil }

    public let user = ""
    public let state: String? = nil
    public let authorizedScopes: [ASAuthorization.Scope] = []
    public let authorizationCode: Data? = nil
    public let identityToken: Data? = nil
    public let email: String? = nil
    public let fullName: PersonNameComponents? = nil
    public let realUserStatus = ASUserDetectionStatus.unsupported

    open func encode(with coder: NSCoder) {}
    open func copy(with zone: NSZone? = nil) -> Any { self }
    public class var supportsSecureCoding: Bool { true }
}
