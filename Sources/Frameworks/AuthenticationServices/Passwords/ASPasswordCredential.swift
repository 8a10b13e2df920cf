public import Foundation

/// A name and a password (Apple's `ASPasswordCredential`).
open class ASPasswordCredential: NSObject, ASAuthorizationCredential, @unchecked Sendable {
    // SAFETY: (@unchecked) nothing of it changes.
    private struct Fields: Codable {
        let user: String
        let password: String
    }

    private let fields: Fields

    public init(user: String, password: String) { fields = Fields(user: user, password: password) }

    public required init?(coder: NSCoder) {
        guard let fields = coder.decodeFields(Fields.self) else { return nil }
        self.fields = fields
    }

    public var user: String { fields.user }
    public var password: String { fields.password }

    open func encode(with coder: NSCoder) { coder.encode(fields: fields) }
    open func copy(with zone: NSZone? = nil) -> Any { self }
    public class var supportsSecureCoding: Bool { true }
}

/// Makes requests for passwords (Apple's `ASAuthorizationPasswordProvider`). Nothing here answers them.
open class ASAuthorizationPasswordProvider: NSObject, ASAuthorizationProvider {
    open func createRequest() -> ASAuthorizationPasswordRequest { ASAuthorizationPasswordRequest(provider: self) }
}

/// A request for a password (Apple's `ASAuthorizationPasswordRequest`). Beside another request it is passed over; alone it ends
/// with ``ASAuthorizationError/notHandled``.
open class ASAuthorizationPasswordRequest: ASAuthorizationRequest, @unchecked Sendable {}
