public import Foundation

/// Whether a new passkey shall be able to keep a blob (Apple's type of the same name).
public struct ASAuthorizationPublicKeyCredentialLargeBlobRegistrationInput: Hashable, Sendable, Codable {
    public enum SupportRequirement: Hashable, Sendable, Codable { case required, preferred }

    public var supportRequirement: SupportRequirement

    /// Otherwise nothing is made.
    public static let supportRequired = Self(supportRequirement: .required)
    /// If the authenticator can.
    public static let supportPreferred = Self(supportRequirement: .preferred)
}

/// Whether a new passkey can keep a blob.
public struct ASAuthorizationPublicKeyCredentialLargeBlobRegistrationOutput: Hashable, Sendable, Codable {
    public var isSupported: Bool

    public static let supported = Self(isSupported: true)
    public static let unsupported = Self(isSupported: false)
}

/// The operation on the blob of a passkey.
public struct ASAuthorizationPublicKeyCredentialLargeBlobAssertionInput: Hashable, Sendable, Codable {
    public enum Operation: Hashable, Sendable, Codable {
        case read
        case write(Data)
    }

    public var operation: Operation

    public static let read = Self(operation: .read)
    /// Replaces the blob. The request must allow exactly one credential.
    public static func write(_ blob: Data) -> Self { Self(operation: .write(blob)) }
}

/// The result of the operation.
public struct ASAuthorizationPublicKeyCredentialLargeBlobAssertionOutput: Hashable, Sendable, Codable {
    public enum OperationResult: Hashable, Sendable, Codable {
        /// nil when there is no blob.
        case read(data: Data?)
        case write(success: Bool)
    }

    public var result: OperationResult

    public static func read(data: Data?) -> Self { Self(result: .read(data: data)) }
    public static func write(success: Bool) -> Self { Self(result: .write(success: success)) }
}
