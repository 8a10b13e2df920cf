/// What one kind of authenticator is and does.
package struct AuthenticatorModel: Sendable {
    /// AAGUID: 16 bytes, the same for all authenticators of the model.
    package var identifier: [UInt8]
    /// `usb`, `nfc`, `internal`.
    package var transports: [String]
    /// Whether it is part of the machine.
    package var isPlatform: Bool
    /// Whether each signature needs a verified user.
    package var alwaysVerifies: Bool
    /// Whether authenticatorReset works, soon after the authenticator got power.
    package var allowsReset: Bool
    /// Whether it takes domains alone as relying parties, and OpenSSH (`ssh:`), which nobody can spell in two ways. A security key
    /// takes any text.
    package var takesDomainsOnly: Bool

    package init(
        identifier: [UInt8], transports: [String], isPlatform: Bool, alwaysVerifies: Bool, allowsReset: Bool,
        takesDomainsOnly: Bool
    ) {
        precondition(identifier.count == 16, "an AAGUID has 16 bytes")
        self.identifier = identifier
        self.transports = transports
        self.isPlatform = isPlatform
        self.alwaysVerifies = alwaysVerifies
        self.allowsReset = allowsReset
        self.takesDomainsOnly = takesDomainsOnly
    }
}
