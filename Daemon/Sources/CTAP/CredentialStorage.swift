package import AuthenticatorRequests

/// Who may see a credential without user verification (CTAP 2.1, 12.1).
package enum CredentialProtection: UInt8, Sendable {
    case optional = 1
    /// Only a client that names it, unless the user was verified.
    case optionalWithList = 2
    case required = 3
}

/// What a relying party asked for, and what its credential must keep.
package struct NewCredential: Sendable {
    package var relyingParty: RelyingPartyName
    package var user: CredentialUser
    package var isDiscoverable: Bool
    package var protection: CredentialProtection
    /// Whether it answers hmac-secret.
    package var hasSecret: Bool

    package init(
        relyingParty: RelyingPartyName, user: CredentialUser, isDiscoverable: Bool, protection: CredentialProtection,
        hasSecret: Bool
    ) {
        self.relyingParty = relyingParty
        self.user = user
        self.isDiscoverable = isDiscoverable
        self.protection = protection
        self.hasSecret = hasSecret
    }
}

/// A credential without its private key.
package struct StoredCredential: Sendable {
    package var identifier: [UInt8]
    package var relyingParty: RelyingPartyName
    package var user: CredentialUser
    package var isDiscoverable: Bool
    package var protection: CredentialProtection
    package var hasSecret: Bool
    /// Both coordinates of the P-256 key, 32 bytes each.
    package var publicKey: [UInt8]

    package init(identifier: [UInt8], _ new: NewCredential, publicKey: [UInt8]) {
        self.identifier = identifier
        relyingParty = new.relyingParty
        user = new.user
        isDiscoverable = new.isDiscoverable
        protection = new.protection
        hasSecret = new.hasSecret
        self.publicKey = publicKey
    }
}

/// A signature, and the counter that it covers.
package struct CountedSignature: Sendable {
    package var counter: UInt32
    /// ASN.1 DER.
    package var bytes: [UInt8]

    package init(counter: UInt32, bytes: [UInt8]) {
        (self.counter, self.bytes) = (counter, bytes)
    }
}

/// What a proof of the user lets the storage do; ``UserInteraction`` makes it, ``CredentialStorage`` understands it.
package protocol UserProof: AnyObject, Sendable {
    var factors: ProvedFactors { get }
}

/// What a user proved, for the list of what stands. It opens nothing.
package struct ProvedFactors: Sendable, Equatable {
    package let names: [String]
    /// The label of the weakest proof.
    package let label: String

    package init(names: [String], label: String) {
        (self.names, self.label) = (names, label)
    }
}

/// Where credentials and their private keys lie. Each call may block on a disk or a chip.
package protocol CredentialStorage: Sendable {
    /// All credentials, the newest first.
    func credentials() throws(CTAPStatus) -> [StoredCredential]

    /// The identifiers of all credentials. Reads none of them.
    func identifiers() throws(CTAPStatus) -> Set<[UInt8]>

    /// How many more discoverable credentials find room.
    func remainingCount() throws(CTAPStatus) -> Int

    /// Makes a key, signs for the first time with it, and keeps both. Removes `replaced` in the same step, or once the new
    /// credential has reached its program.
    ///
    /// - Parameter message: what to sign, with the counter of this signature.
    /// - Throws: ``CTAPStatus/keyStoreFull``; nothing is kept or removed then.
    func create(
        _ new: NewCredential, replacing replaced: [[UInt8]], under proof: (any UserProof)?,
        signing message: (StoredCredential, UInt32) -> [UInt8]
    ) throws(CTAPStatus) -> (StoredCredential, CountedSignature)

    /// Counts on and signs. The counter is on disk before the signature leaves.
    func sign(
        with credential: StoredCredential, under proof: (any UserProof)?, _ message: (UInt32) -> [UInt8]
    ) throws(CTAPStatus) -> CountedSignature

    /// HMAC-SHA-256 of each salt under a secret of the credential.
    ///
    /// - Parameter isVerified: which of the credential's two secrets.
    func outputs(
        of salts: PRFSalts, with credential: StoredCredential, isVerified: Bool, under proof: (any UserProof)?
    ) throws(CTAPStatus) -> PRFOutputs

    func update(_ user: CredentialUser, of identifier: [UInt8]) throws(CTAPStatus)
    func remove(_ identifier: [UInt8]) throws(CTAPStatus)
    func removeAll() throws(CTAPStatus)
}

/// The PIN of an authenticator that has one.
package protocol PINStorage: Sendable {
    /// The first 16 bytes of the PIN's SHA-256; nil while none is set.
    func pinHash() throws(CTAPStatus) -> [UInt8]?
    /// Also sets the tries to ``CTAPLimits/pinTries``.
    func setPINHash(_ hash: [UInt8]) throws(CTAPStatus)
    func pinTriesLeft() throws(CTAPStatus) -> Int
    /// Is on disk when it returns.
    func setPINTriesLeft(_ count: Int) throws(CTAPStatus)
    func removePIN() throws(CTAPStatus)
}
