package import Passcodes
package import SecretMemory

/// How what a person typed becomes a key that is slow to guess. The daemon knows one way, ``argon2id``; tests that enter
/// hundreds of passcodes bring a cheap one.
package struct PasscodeStretching: Sendable {
    package typealias Function =
        @Sendable (
            _ entry: borrowing SecretBytes, _ salt: StretchSalt, _ parameters: StretchParameters
        ) throws -> SecretBytes

    private let function: Function

    package init(_ function: @escaping Function) { self.function = function }

    /// Argon2id (RFC 9106) with the parameters that stand in the record.
    package static let argon2id = PasscodeStretching { entry, salt, parameters in
        try PasscodeStretcher(parameters: parameters).stretch(entry, salt: salt)
    }

    /// The 32-byte key of `entry`. Blocks for the whole computation.
    package func stretch(
        _ entry: borrowing SecretBytes, salt: StretchSalt, parameters: StretchParameters
    ) throws -> SecretBytes {
        try function(entry, salt, parameters)
    }
}
