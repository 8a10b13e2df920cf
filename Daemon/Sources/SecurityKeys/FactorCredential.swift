package import SecretMemory

/// A credential that a security key made for Ostiary itself, whose hmac-secret opens key slots.
package struct FactorCredential: Sendable, Equatable {
    package let identifier: [UInt8]
    /// Whether its secret is the one of a verified person. A key without a way to verify gives only the other one.
    package let isVerified: Bool
    /// AAGUID of the key, 16 bytes.
    package let model: [UInt8]

    package init(identifier: [UInt8], isVerified: Bool, model: [UInt8]) {
        self.identifier = identifier
        self.isVerified = isVerified
        self.model = model
    }

    /// The relying party of these credentials. Nobody can own the domain (RFC 6761).
    static let relyingParty = "security-key.ostiary.invalid"
}

/// The output of a key for a ``FactorCredential``.
package struct FactorOutput: Sendable {
    package let identifier: [UInt8]
    package let isVerified: Bool
    /// 32 bytes for each salt.
    package let secret: FactorSecret
}

/// The end of the wait for a touch, beside other ways to answer.
package enum FactorTouch: Sendable {
    case output(FactorOutput)
    /// The person has touched this key, which works only with its PIN.
    case needsPIN(SecurityKeyPort)
}

/// A key that was enrolled as a factor.
package struct EnrolledFactorKey: Sendable {
    package let output: FactorOutput
    /// 1 or 2: the PIN/UV auth protocol that libfido2 chose.
    package let pinProtocol: UInt8
    /// AAGUID, 16 bytes.
    package let model: [UInt8]
}

/// Outputs of hmac-secret, wiped with their last holder.
package final class FactorSecret: Sendable {
    package let bytes: SecretBytes

    package init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
}
