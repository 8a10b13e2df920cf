/// What an authenticator made.
package struct CreatedCredential: Sendable, Equatable {
    package var credentialIdentifier: [UInt8]
    /// CBOR with `fmt`, `attStmt` and `authData` (WebAuthn 6.5), canonical.
    package var attestationObject: [UInt8]
    /// How the authenticator can be reached: `usb`, `nfc`, `internal`.
    package var transports: [String]
    package var attachment: AuthenticatorAttachment
    /// nil when the relying party did not ask.
    package var supportsPRF: Bool?
    package var prf: PRFOutputs?
    package var supportsLargeBlob: Bool?

    package init(
        credentialIdentifier: [UInt8], attestationObject: [UInt8], transports: [String],
        attachment: AuthenticatorAttachment
    ) {
        self.credentialIdentifier = credentialIdentifier
        self.attestationObject = attestationObject
        self.transports = transports
        self.attachment = attachment
    }
}

/// What an authenticator signed.
package struct AssertedCredential: Sendable, Equatable {
    package var credentialIdentifier: [UInt8]
    package var authenticatorData: [UInt8]
    /// Over the authenticator data and the hash of the client data.
    package var signature: [UInt8]
    /// The user handle; nil for a credential that is not discoverable.
    package var userHandle: [UInt8]?
    package var attachment: AuthenticatorAttachment
    /// Whether the credential was one of FIDO U2F, found through the request's `appID`.
    package var usedAppID = false
    package var prf: PRFOutputs?
    package var largeBlob: LargeBlobResult?

    package init(
        credentialIdentifier: [UInt8], authenticatorData: [UInt8], signature: [UInt8], userHandle: [UInt8]?,
        attachment: AuthenticatorAttachment
    ) {
        self.credentialIdentifier = credentialIdentifier
        self.authenticatorData = authenticatorData
        self.signature = signature
        self.userHandle = userHandle
        self.attachment = attachment
    }
}

package enum AuthenticatorAttachment: Sendable, Equatable {
    case platform, crossPlatform
}

/// The outputs of hmac-secret, 32 bytes each. They are secrets of the relying party's page or program.
package struct PRFOutputs: Sendable, Equatable {
    package var first: [UInt8]
    package var second: [UInt8]?

    package init(first: [UInt8], second: [UInt8]? = nil) {
        (self.first, self.second) = (first, second)
    }
}

package enum LargeBlobResult: Sendable, Equatable {
    case read([UInt8]?)
    case written(Bool)
}
