public import Crypto
public import Foundation

/// The inputs of the PRF extension at a registration (WebAuthn 10.1.4; Apple's type of the same name).
public struct ASAuthorizationPublicKeyCredentialPRFRegistrationInput: Hashable, Sendable, Codable {
    public typealias InputValues = ASAuthorizationPublicKeyCredentialPRFAssertionInput.InputValues

    /// Whether only the support is asked for.
    public let shouldCheckForSupport: Bool
    public let inputValues: InputValues?

    /// Asks whether the new credential supports the extension.
    public static let checkForSupport = Self(shouldCheckForSupport: true, inputValues: nil)
    /// Evaluates the inputs, if the authenticator can do so at the registration.
    public static func inputValues(_ values: InputValues) -> Self {
        Self(shouldCheckForSupport: false, inputValues: values)
    }
}

/// The outputs at a registration.
public struct ASAuthorizationPublicKeyCredentialPRFRegistrationOutput: Sendable, Equatable {
    public let isSupported: Bool
    /// 32 bytes; nil where the authenticator evaluates at a sign-in only.
    public let first: SymmetricKey?
    public let second: SymmetricKey?

    public static let supported = Self(isSupported: true, first: nil, second: nil)
    public static let unsupported = Self(isSupported: false, first: nil, second: nil)

    public init(first: SymmetricKey, second: SymmetricKey?) {
        self.init(isSupported: true, first: first, second: second)
    }

    private init(isSupported: Bool, first: SymmetricKey?, second: SymmetricKey?) {
        (self.isSupported, self.first, self.second) = (isSupported, first, second)
    }
}

/// The inputs of the PRF extension at a sign-in (WebAuthn 10.1.4; Apple's type of the same name).
///
/// They are hashed before they reach the authenticator, as a browser does it, so a site and a program get the same outputs.
public struct ASAuthorizationPublicKeyCredentialPRFAssertionInput: Hashable, Sendable, Codable {
    /// One or two inputs.
    public struct InputValues: Hashable, Sendable, Codable {
        public var saltInput1: Data
        public var saltInput2: Data?

        public init(saltInput1: Data, saltInput2: Data? = nil) {
            (self.saltInput1, self.saltInput2) = (saltInput1, saltInput2)
        }

        public static func saltInput1(_ saltInput1: Data, saltInput2: Data? = nil) -> Self {
            Self(saltInput1: saltInput1, saltInput2: saltInput2)
        }
    }

    public let inputValues: InputValues?
    /// By credential. They take the place of ``inputValues`` for the credentials that they name.
    public let perCredentialInputValues: [Data: InputValues]?

    public static func inputValues(
        _ values: InputValues, perCredentialInputValues: [Data: InputValues]? = nil
    ) -> Self {
        Self(inputValues: values, perCredentialInputValues: perCredentialInputValues)
    }

    /// The request must allow these credentials.
    public static func perCredentialInputValues(_ values: [Data: InputValues]) -> Self {
        Self(inputValues: nil, perCredentialInputValues: values)
    }
}

/// The outputs at a sign-in, 32 bytes each.
public struct ASAuthorizationPublicKeyCredentialPRFAssertionOutput: Sendable, Equatable {
    public let first: SymmetricKey
    public let second: SymmetricKey?

    public init(first: SymmetricKey, second: SymmetricKey?) { (self.first, self.second) = (first, second) }
}
