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
    /// The model of the authenticator, 16 bytes; nil in records of earlier versions. See ``Registration/aaguid`` for what it
    /// proves.
    public var aaguid: Data?
    /// When the credential was registered; nil in records of earlier versions.
    public var creation: Date?
    /// When it signed in last; nil if it never did.
    public var lastUse: Date?
    /// The name that the person gave it.
    public var nickname: String?
    /// Whether the client said that the credential names its account by itself; nil if it said nothing.
    public var isDiscoverable: Bool?

    public init(
        id: Data, userHandle: Data, publicKey: Data, signatureCounter: UInt32, isUserVerified: Bool,
        isBackupEligible: Bool, isBackedUp: Bool, transports: [String], aaguid: Data? = nil, creation: Date? = nil,
        lastUse: Date? = nil, nickname: String? = nil, isDiscoverable: Bool? = nil
    ) {
        self.id = id
        self.userHandle = userHandle
        self.publicKey = publicKey
        self.signatureCounter = signatureCounter
        self.isUserVerified = isUserVerified
        self.isBackupEligible = isBackupEligible
        self.isBackedUp = isBackedUp
        self.transports = transports
        self.aaguid = aaguid
        self.creation = creation
        self.lastUse = lastUse
        self.nickname = nickname
        self.isDiscoverable = isDiscoverable
    }
}

/// What changes in a record when its credential signs.
public struct CredentialUse: Sendable, Equatable {
    public let credentialID: Data
    public let signatureCounter: UInt32
    public let isBackedUp: Bool
    /// When it signed; nil leaves the record's date as it is.
    public var date: Date?

    public init(credentialID: Data, signatureCounter: UInt32, isBackedUp: Bool, date: Date? = nil) {
        self.credentialID = credentialID
        self.signatureCounter = signatureCounter
        self.isBackedUp = isBackedUp
        self.date = date
    }

    /// Whether the counter may come after `stored`: it is greater, or neither counts at all.
    public func follows(_ stored: UInt32) -> Bool {
        signatureCounter > stored || (signatureCounter == 0 && stored == 0)
    }
}
