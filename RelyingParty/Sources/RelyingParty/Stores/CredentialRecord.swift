public import Foundation

/// What a relying party keeps of a credential (WebAuthn Level 3, section 4, "credential record").
public struct CredentialRecord: Sendable, Equatable {
    public let id: Data
    /// The account.
    public let userHandle: Data
    /// COSE key.
    public let publicKey: Data
    public var signatureCounter: UInt32
    /// Whether the authenticator verified the person when it made the credential.
    public var isUserVerified: Bool
    /// Whether the credential can ever be on more than one device.
    public let isBackupEligible: Bool
    public var isBackedUp: Bool
    public let transports: [String]

    public init(
        id: Data, userHandle: Data, publicKey: Data, signatureCounter: UInt32, isUserVerified: Bool,
        isBackupEligible: Bool, isBackedUp: Bool, transports: [String]
    ) {
        self.id = id
        self.userHandle = userHandle
        self.publicKey = publicKey
        self.signatureCounter = signatureCounter
        self.isUserVerified = isUserVerified
        self.isBackupEligible = isBackupEligible
        self.isBackedUp = isBackedUp
        self.transports = transports
    }
}

/// What changes in a record when its credential signs.
public struct CredentialUse: Sendable, Equatable {
    public let credentialID: Data
    public let signatureCounter: UInt32
    public let isBackedUp: Bool

    public init(credentialID: Data, signatureCounter: UInt32, isBackedUp: Bool) {
        self.credentialID = credentialID
        self.signatureCounter = signatureCounter
        self.isBackedUp = isBackedUp
    }

    /// Whether the counter may come after `stored`: it is greater, or neither counts at all.
    public func follows(_ stored: UInt32) -> Bool {
        signatureCounter > stored || (signatureCounter == 0 && stored == 0)
    }
}
