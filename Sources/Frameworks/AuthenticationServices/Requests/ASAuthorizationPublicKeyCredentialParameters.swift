public import Foundation

/// A kind of credential that a relying party supports (Apple's `ASAuthorizationPublicKeyCredentialParameters`).
open class ASAuthorizationPublicKeyCredentialParameters: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    // SAFETY: (@unchecked) nothing of it changes.

    private struct Fields: Codable { let algorithm: ASCOSEAlgorithmIdentifier }

    /// The signature algorithm.
    public let algorithm: ASCOSEAlgorithmIdentifier

    public init(algorithm: ASCOSEAlgorithmIdentifier) { self.algorithm = algorithm }

    public required init?(coder: NSCoder) {
        guard let fields = coder.decodeFields(Fields.self) else { return nil }
        algorithm = fields.algorithm
    }

    open func copy(with zone: NSZone? = nil) -> Any { self }
    open func encode(with coder: NSCoder) { coder.encode(fields: Fields(algorithm: algorithm)) }
    public class var supportsSecureCoding: Bool { true }
}
