import Crypto
import ExactNames
import Foundation

/// pinUvAuthToken: what a client gets for a PIN or a verified user, and shows with its next commands (CTAP 2.1, 6.5.2).
struct PINUserToken {
    struct Permissions: OptionSet {
        let rawValue: UInt8
        init(rawValue: UInt8) { self.rawValue = rawValue }

        static let makeCredential = Permissions(rawValue: 0x01)
        static let getAssertion = Permissions(rawValue: 0x02)
        static let credentialManagement = Permissions(rawValue: 0x04)
        /// Enrolment of fingers, large blobs, configuration: this authenticator has none of them.
        static let unavailable = Permissions(rawValue: 0x78)
    }

    let value = SymmetricKey(size: .bits256)
    /// Names it in the list of what stands.
    let number = UInt64.random(in: 1 ... .max)
    private(set) var permissions: Permissions
    /// The one relying party that it counts for; nil until the first use, for a token that was given for none.
    private(set) var relyingParty: ExactName?
    /// Whether the user touched the authenticator when it was given.
    private(set) var isUserPresent: Bool
    private(set) var isUserVerified = true
    /// The proof of a verification on the authenticator; nil for a PIN.
    let held: HeldProof?
    /// What was proved for it, also when ``proof`` is gone; nil for a PIN.
    let factors: ProvedFactors?
    let made: Duration
    private var firstUse: Duration?

    init(
        _ permissions: Permissions, for relyingParty: ExactName?, isUserPresent: Bool, proof: (any UserProof)?,
        at now: Duration
    ) {
        self.permissions = permissions
        self.relyingParty = relyingParty
        self.isUserPresent = isUserPresent
        held = proof.map { HeldProof($0, until: now + CTAPLimits.tokenFirstUse) }
        factors = proof?.factors
        made = now
    }

    /// The proof of a verification; nil once it was used for a signature, or is too old for one.
    var proof: (any UserProof)? { held?.proof }

    func isAlive(at now: Duration) -> Bool { now < end }

    /// When it counts no longer.
    var end: Duration { firstUse.map { $0 + CTAPLimits.tokenUse } ?? made + CTAPLimits.tokenFirstUse }
    /// When the user has to be asked again for a signature.
    var proofEnd: Duration { made + CTAPLimits.tokenFirstUse }

    mutating func noteUse(at now: Duration) {
        if firstUse == nil { firstUse = now }
        dropExpiredProof(at: now)
    }

    /// Afterwards the user has to be asked again.
    mutating func dropExpiredProof(at now: Duration) {
        guard now >= proofEnd else { return }
        isUserPresent = false
        held?.drop()
    }

    mutating func bind(to relyingParty: ExactName) { self.relyingParty = relyingParty }

    /// After a signature that the user agreed to, the token is good for nothing else.
    mutating func spend() {
        isUserPresent = false
        isUserVerified = false
        permissions = []
        held?.drop()
    }
}
