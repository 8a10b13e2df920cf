import AuthenticatorRequests
package import Cancellations
import CanonicalCBOR

/// Answers the commands of CTAP 2.1. It has one owner, who hands it one command at a time.
package struct CTAPAuthenticator: Sendable {
    let model: AuthenticatorModel
    private(set) var storage: any CredentialStorage
    /// nil if the authenticator knows no PIN of its own.
    let pins: (any PINStorage)?
    private(set) var interaction: any UserInteraction
    package let clock: @Sendable () -> Duration
    private let poweredOn: Duration

    var agreements = KeyAgreements()
    var token: PINUserToken?
    /// Wrong PINs since the last right one, or since the authenticator got power.
    var wrongPINsInARow = 0
    var pendingAssertions: PendingAssertions?
    var enumeration: CredentialEnumeration?

    /// Begins as an authenticator does that just got power.
    ///
    /// - Parameter clock: the time since any fixed moment; never goes back.
    package init(
        _ model: AuthenticatorModel, storage: any CredentialStorage, pins: (any PINStorage)?,
        interaction: any UserInteraction, clock: @escaping @Sendable () -> Duration
    ) {
        self.model = model
        self.storage = storage
        self.pins = pins
        self.interaction = interaction
        self.clock = clock
        poweredOn = clock()
    }

    /// Answers the next commands with another storage and another way to ask the user. Tokens and lists under way stay.
    package mutating func use(_ storage: any CredentialStorage, _ interaction: any UserInteraction) {
        self.storage = storage
        self.interaction = interaction
    }

    /// Lets go of storage and user. Until the next ``use(_:_:)`` it holds tokens and lists under way, and nothing else.
    package mutating func rest() { use(RestingParts(), RestingParts()) }

    /// Drops what is too old to be used by another command, and what a proof of the user opened with it.
    package mutating func dropExpired() {
        let now = now
        if let token, !token.isAlive(at: now) { self.token = nil }
        token?.dropExpiredProof(at: now)
        if let pendingAssertions, now - pendingAssertions.time >= CTAPLimits.nextOfList {
            self.pendingAssertions = nil
        }
        if let enumeration, now - enumeration.time >= CTAPLimits.nextOfList { self.enumeration = nil }
    }

    /// The proof that the token holds.
    package var heldProof: HeldProof? { token?.held }

    /// Whether anything is left that ``dropExpired()`` drops within half a minute.
    package var holdsExpiring: Bool {
        token?.proof != nil || pendingAssertions != nil || enumeration != nil
    }

    var now: Duration { clock() }
    var isFreshlyPowered: Bool { now - poweredOn < CTAPLimits.reset }

    /// Answers one request: a status byte, and CBOR if the command has an answer. Blocks while the user is asked.
    ///
    /// - Parameter cancellation: ends the wait for the user.
    package mutating func respond(
        to request: [UInt8], until cancellation: Cancellation
    ) -> [UInt8] {
        do {
            let answer = try answer(to: request, until: cancellation)
            return [CTAPStatus.success.rawValue] + (answer?.encoded ?? [])
        } catch {
            return [error.rawValue]
        }
    }

    private mutating func answer(
        to request: [UInt8], until cancellation: Cancellation
    ) throws(CTAPStatus) -> CBORValue? {
        guard request.count <= CTAPLimits.messageByteCount else { throw .requestTooLarge }
        guard let first = request.first, let command = CTAPCommand(rawValue: first) else { throw .invalidCommand }
        if command != .getNextAssertion { pendingAssertions = nil }
        if command != .credentialManagement { enumeration = nil }
        dropExpired()
        let body = request.dropFirst()
        switch command {
        case .getInfo, .reset, .selection, .getNextAssertion:
            guard body.isEmpty else { throw .invalidLength }
            return try answer(to: command, until: cancellation)
        case .makeCredential: return try makeCredential(Parameters(decoding: body), until: cancellation)
        case .getAssertion: return try getAssertion(Parameters(decoding: body), until: cancellation)
        case .clientPIN: return try clientPIN(Parameters(decoding: body), until: cancellation)
        case .credentialManagement: return try manageCredentials(Parameters(decoding: body))
        }
    }

    private mutating func answer(
        to command: CTAPCommand, until cancellation: Cancellation
    ) throws(CTAPStatus) -> CBORValue? {
        switch command {
        case .getInfo: return try information()
        case .getNextAssertion: return try getNextAssertion()
        case .reset:
            try reset(until: cancellation)
            return nil
        default:
            _ = try interaction.confirmPresence(for: InteractionRequest(purpose: .selection), until: cancellation)
            return nil
        }
    }

    /// Removes all credentials and the PIN (CTAP 2.1, 6.6).
    private mutating func reset(until cancellation: Cancellation) throws(CTAPStatus) {
        guard model.allowsReset, isFreshlyPowered else { throw .notAllowed }
        _ = try interaction.confirmPresence(for: InteractionRequest(purpose: .reset), until: cancellation)
        try storage.removeAll()
        try pins?.removePIN()
        agreements = KeyAgreements()
        token = nil
        wrongPINsInARow = 0
    }
}
