/// Why a request was not carried out.
public struct WireFailure: WireMessage, FieldList {
    /// The number of a ``WireFailureCode``. A program keeps and shows an unknown number and treats it as a refusal.
    public var code: UInt32 = 0
    /// What happened and what to do next. Never a secret, never bytes of a caller.
    public var explanation = ""
    /// The remaining delay after a lock-out.
    public var retryAfterSeconds = 0.0
    /// The cause, for programs, such as `biometry.no-sensor`.
    public var cause = ""

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&code)
        coder.field(&explanation)
        coder.field(&retryAfterSeconds)
        coder.field(&cause)
    }
}

/// Numbers never change their meaning and are never reused.
public enum WireFailureCode: Int, CaseIterable, Sendable {
    case unspecified = 0

    // The request itself.
    case malformed = 1
    case outOfOrder = 2
    case tooLarge = 3
    case tooMany = 4
    case unknownContext = 5
    case versionMismatch = 6
    case invalidParameter = 7
    case invalidRule = 8
    case emptyReason = 9

    // The decision.
    case notAuthorized = 20
    case authenticationFailed = 21
    case userCancel = 22
    case userFallback = 23
    case systemCancel = 24
    case appCancel = 25
    case notInteractive = 26
    case lockedOut = 27
    case operationNotPermitted = 28
    case callerChanged = 29
    case cooldown = 30
    case timedOut = 31
    /// Nothing was done: send the request again with the question and the terminal.
    case questionNeeded = 32
    /// The client of a door has ended, or is another program than the one that its first request was made for. The door's connection
    /// goes on.
    case clientChanged = 33
    /// The door cannot act for that client. The door's connection goes on.
    case clientRefused = 34
    /// Only the administrator may ask for it.
    case notPermitted = 35

    // Passcode and devices.
    case passcodeNotSet = 40
    case passcodeAlreadySet = 41
    case passcodeTooWeak = 42
    case passcodeMismatch = 43
    case biometryNotAvailable = 44
    case biometryNotEnrolled = 45
    case biometryLockout = 46
    case companionNotAvailable = 47
    case locked = 48

    // The store.
    case notFound = 60
    case duplicate = 61
    case noSecret = 62
    case itemUnreadable = 63
    case storeUnreadable = 64
    case storeTooNew = 65
    case diskFull = 66
    case logUnwritable = 67
    case `internal` = 68
    case missingEntitlement = 69
    case noSuchAttribute = 70
    case noSuchClass = 71
    case programChanged = 72
    /// The program's file could not be compared with the registered one: it is unreadable, or changes while it is read.
    case programUnverified = 73

    // Credentials of relying parties.
    /// The program may not use the relying party's credentials: it is not registered for the domain, or the domain does
    /// not confirm it.
    case notAssociated = 90
    /// The authenticator holds one of the excluded credentials.
    case credentialExcluded = 91
    /// The authenticator holds none of the allowed credentials, or no authenticator is at hand.
    case noCredential = 92
    /// The authenticator could not do it.
    case authenticatorFailed = 93
    /// The authenticator gave an answer that breaks its specification.
    case invalidAuthenticatorAnswer = 94

    // Keys.
    case unsupportedAlgorithm = 80
    case decryptionFailed = 81
    case invalidPeerKey = 82
}
