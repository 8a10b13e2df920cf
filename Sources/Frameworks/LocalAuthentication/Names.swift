public import CLocalAuthentication

extension LABiometryType {
    /// The older name of ``none`` (Apple's `LABiometryNone`).
    public static var LABiometryNone: LABiometryType { .none }
}

/// The domain of ``LAError`` as `NSError` (Apple's `LAErrorDomain`).
public let LAErrorDomain = "com.apple.LocalAuthentication"

/// The same domain (Apple's `kLAErrorDomain`).
public var kLAErrorDomain: String { LAErrorDomain }
