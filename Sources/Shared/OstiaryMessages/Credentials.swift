public import Foundation

// Credentials of relying parties (WebAuthn): security keys, and passkeys of this machine. The daemon makes the client data,
// asks the person, and speaks to the authenticator.

/// Makes a credential. Answered by ``WireRegisteredCredential``; outputs of the PRF extension are the tail.
public struct WireRegisterCredentialRequest: WireMessage, FieldList {
    /// One for each kind of authenticator that may make it; the person chooses among several.
    public var creations: [WireCredentialCreation] = []
    /// Asks nobody, and is refused, if nothing that could make it is at hand.
    public var onlyIfAtHand = false

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&creations)
        coder.field(&onlyIfAtHand)
    }
}

/// Signs with a credential. Answered by ``WireAssertedCredential``; outputs of the PRF extension are the tail.
public struct WireAssertCredentialRequest: WireMessage, FieldList {
    /// One for each kind of authenticator that may sign; the person chooses among several.
    public var assertions: [WireCredentialAssertion] = []
    /// Asks nobody, and is refused, if no credential is at hand.
    public var onlyIfAtHand = false

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&assertions)
        coder.field(&onlyIfAtHand)
    }
}

public struct WireCredentialCreation: WireMessage, FieldList {
    public var attachment = WireAttachment.unspecified
    /// A domain that the program is registered for.
    public var relyingPartyID = ""
    public var challenge = Data()
    /// The user handle, 1 to 64 bytes.
    public var userID = Data()
    public var userName = ""
    public var userDisplayName = ""
    /// COSE identifiers, the best first. Empty for ES256.
    public var algorithms: [Int64] = []
    public var excluded: [WireCredentialDescriptor] = []
    /// Unspecified for `preferred`.
    public var userVerification = WirePreference.unspecified
    /// Whether the credential shall be found without its identifier. Unspecified for `discouraged`.
    public var residentKey = WirePreference.unspecified
    /// Unspecified for none.
    public var attestation = WireAttestation.unspecified
    /// Unspecified without the extension.
    public var largeBlob = WirePreference.unspecified
    public var wantsPRF = false
    public var prf: WirePRFInputs?

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&attachment)
        coder.field(&relyingPartyID)
        coder.field(&challenge)
        coder.field(&userID)
        coder.field(&userName)
        coder.field(&userDisplayName)
        coder.field(&algorithms)
        coder.field(&excluded)
        coder.field(&userVerification)
        coder.field(&residentKey)
        coder.field(&attestation)
        coder.field(&largeBlob)
        coder.field(&wantsPRF)
        coder.field(&prf)
    }
}

public struct WireCredentialAssertion: WireMessage, FieldList {
    public var attachment = WireAttachment.unspecified
    /// A domain that the program is registered for.
    public var relyingPartyID = ""
    public var challenge = Data()
    /// Empty for every credential that is found without its identifier.
    public var allowed: [WireCredentialDescriptor] = []
    /// Unspecified for `preferred`.
    public var userVerification = WirePreference.unspecified
    /// The identifier that credentials of FIDO U2F were made for; empty without the extension.
    public var appID = ""
    public var prf: WirePRFInputs?
    /// These take the place of `prf` for the credentials that they name.
    public var prfByCredential: [WireCredentialPRFInputs] = []
    public var readsLargeBlob = false
    /// Nil when none is written.
    public var writtenLargeBlob: Data?

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&attachment)
        coder.field(&relyingPartyID)
        coder.field(&challenge)
        coder.field(&allowed)
        coder.field(&userVerification)
        coder.field(&appID)
        coder.field(&prf)
        coder.field(&prfByCredential)
        coder.field(&readsLargeBlob)
        coder.field(&writtenLargeBlob)
    }
}

public struct WireCredentialDescriptor: WireMessage, FieldList {
    public var credentialID = Data()
    /// `usb`, `nfc`, `ble`, `internal`, `hybrid`; empty when unknown.
    public var transports: [String] = []

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&credentialID)
        coder.field(&transports)
    }
}

/// The inputs of the PRF extension (WebAuthn 10.1.4), as the relying party gives them. The daemon makes salts of them.
public struct WirePRFInputs: WireMessage, FieldList {
    public var first = Data()
    public var second: Data?

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&first)
        coder.field(&second)
    }
}

public struct WireCredentialPRFInputs: WireMessage, FieldList {
    public var credentialID = Data()
    public var inputs = WirePRFInputs()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&credentialID)
        coder.field(&inputs)
    }
}

// MARK: - Answers

/// A new credential. The tail is empty, or has one or two outputs of the PRF extension of 32 bytes each.
public struct WireRegisteredCredential: WireMessage, FieldList {
    public var attachment = WireAttachment.unspecified
    public var credentialID = Data()
    public var clientDataJSON = Data()
    /// CBOR (WebAuthn 6.5).
    public var attestationObject = Data()
    public var transports: [String] = []
    /// Absent when it was not asked for.
    public var supportsPRF: Bool?
    /// Absent when it was not asked for.
    public var supportsLargeBlob: Bool?

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&attachment)
        coder.field(&credentialID)
        coder.field(&clientDataJSON)
        coder.field(&attestationObject)
        coder.field(&transports)
        coder.field(&supportsPRF)
        coder.field(&supportsLargeBlob)
    }
}

/// A signature. The tail is empty, or has one or two outputs of the PRF extension of 32 bytes each.
public struct WireAssertedCredential: WireMessage, FieldList {
    public var attachment = WireAttachment.unspecified
    public var credentialID = Data()
    public var clientDataJSON = Data()
    public var authenticatorData = Data()
    public var signature = Data()
    /// Absent for a credential that is not found without its identifier.
    public var userHandle: Data?
    /// Whether the credential was found through the request's `appID`.
    public var usedAppID = false
    /// The blob that was read; absent when none was asked for, or there is none.
    public var largeBlob: Data?
    /// Absent when none was to be written.
    public var wroteLargeBlob: Bool?

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&attachment)
        coder.field(&credentialID)
        coder.field(&clientDataJSON)
        coder.field(&authenticatorData)
        coder.field(&signature)
        coder.field(&userHandle)
        coder.field(&usedAppID)
        coder.field(&largeBlob)
        coder.field(&wroteLargeBlob)
    }
}

// MARK: - Numbers

/// Where an authenticator is.
public enum WireAttachment: WireNumber, WireValue {
    case unspecified, platform, crossPlatform
    case UNRECOGNIZED(Int)

    public init(rawValue: Int) {
        switch rawValue {
        case 0: self = .unspecified
        case 1: self = .platform
        case 2: self = .crossPlatform
        default: self = .UNRECOGNIZED(rawValue)
        }
    }

    public var rawValue: Int {
        switch self {
        case .unspecified: 0
        case .platform: 1
        case .crossPlatform: 2
        case .UNRECOGNIZED(let number): number
        }
    }
}

/// The strength of a relying party's wish.
public enum WirePreference: WireNumber, WireValue {
    case unspecified, required, preferred, discouraged
    case UNRECOGNIZED(Int)

    public init(rawValue: Int) {
        switch rawValue {
        case 0: self = .unspecified
        case 1: self = .required
        case 2: self = .preferred
        case 3: self = .discouraged
        default: self = .UNRECOGNIZED(rawValue)
        }
    }

    public var rawValue: Int {
        switch self {
        case .unspecified: 0
        case .required: 1
        case .preferred: 2
        case .discouraged: 3
        case .UNRECOGNIZED(let number): number
        }
    }
}

/// The attestation that a relying party wants.
public enum WireAttestation: WireNumber, WireValue {
    case unspecified, indirect, direct, enterprise
    case UNRECOGNIZED(Int)

    public init(rawValue: Int) {
        switch rawValue {
        case 0: self = .unspecified
        case 1: self = .indirect
        case 2: self = .direct
        case 3: self = .enterprise
        default: self = .UNRECOGNIZED(rawValue)
        }
    }

    public var rawValue: Int {
        switch self {
        case .unspecified: 0
        case .indirect: 1
        case .direct: 2
        case .enterprise: 3
        case .UNRECOGNIZED(let number): number
        }
    }
}
