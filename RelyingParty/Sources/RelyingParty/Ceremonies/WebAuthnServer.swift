public import Foundation

/// Registers credentials and signs people in: ``WebAuthnVerifier`` with a store of challenges and one of credentials.
///
/// Each challenge counts once, also if the answer to it is refused. The calls throw ``CeremonyError``, or the error of a
/// store.
public struct WebAuthnServer: Sendable {
    public let verifier: WebAuthnVerifier
    /// The name of the relying party, which some clients show.
    public let name: String
    let challenges: any ChallengeStore
    let credentials: any CredentialStore
    /// How long a challenge may be answered.
    public let lifetime: Duration
    private let clock: @Sendable () -> Date

    public init(
        verifier: WebAuthnVerifier, name: String, challenges: any ChallengeStore, credentials: any CredentialStore,
        lifetime: Duration = .seconds(300), clock: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.verifier = verifier
        self.name = name
        self.challenges = challenges
        self.credentials = credentials
        self.lifetime = lifetime
        self.clock = clock
    }

    // MARK: registration

    /// - Parameters:
    ///   - user: the account; its handle has 1 to 64 bytes and says nothing about the person.
    ///   - session: see ``OpenChallenge/session``.
    ///   - preferences: what the credential should be like.
    public func beginRegistration(
        of user: WebAuthnUser, session: Data? = nil, verification: UserRequirements.Verification = .preferred,
        preferences: CredentialPreferences = CredentialPreferences()
    ) async throws -> CreationOptions {
        guard (1...Limits.userHandleByteCount).contains(user.handle.count) else {
            throw CeremonyError.userHandleLength(user.handle.count)
        }
        let requirements = UserRequirements(
            verification: verification, presence: preferences.isConditional ? .notRequired : .required,
            protection: preferences.extensions.enforcesProtection ? preferences.extensions.protection : nil)
        let challenge = try await open(.registration, user.handle, session, [], requirements)
        let known = try await credentials.credentials(of: user.handle)
        let needed: CreationOptions.Attestation = verifier.attestation.needsAttestation ? .direct : .none
        return CreationOptions(
            challenge: challenge, relyingParty: .init(id: verifier.relyingPartyIdentifier, name: name), user: user,
            algorithms: verifier.algorithms, excluded: known.map(CredentialDescriptor.init), lifetime: lifetime,
            verification: verification, attestation: preferences.attestation ?? needed, preferences: preferences)
    }

    /// Verifies the answer and stores the credential for the account that the registration began with:
    /// ``CredentialRecord/userHandle`` of the result.
    ///
    /// - Parameter account: the account that is signed in, if one adds a credential. A registration that began for another one
    ///   is refused. Without it, the account must have no credential: otherwise who knows its handle would get into it.
    public func finishRegistration(
        _ response: RegistrationResponse, session: Data? = nil, account expected: Data? = nil
    ) async throws -> Registration {
        let challenge = try await take(answeredBy: response.clientDataJSON, .registration, session)
        guard let account = challenge.account else { throw CeremonyError.challengeNotOpen }
        guard expected == nil || expected == account else { throw CeremonyError.userHandleMismatch }
        let registration = try await verifier.verifyRegistration(
            response, challenge: challenge.value, userHandle: account,
            requirements: challenge.requirements, at: clock())
        try await store(registration.credential, asFirst: expected == nil)
        return registration
    }

    private func store(_ credential: CredentialRecord, asFirst isFirst: Bool) async throws {
        guard isFirst else {
            guard try await credentials.add(credential) else { throw CeremonyError.credentialAlreadyRegistered }
            return
        }
        guard try await !credentials.addFirst(credential) else { return }
        throw try await credentials.credentials(of: credential.userHandle).isEmpty
            ? CeremonyError.credentialAlreadyRegistered : .accountHasCredentials
    }

    // MARK: sign-in

    /// - Parameter account: the account that is to sign in; nil if the credential is to name it.
    public func beginAssertion(
        account: Data? = nil, session: Data? = nil, verification: UserRequirements.Verification = .preferred,
        hints: [ClientHint] = [], extensions: AssertionExtensions = AssertionExtensions()
    ) async throws -> RequestOptions {
        var known: [CredentialRecord] = []
        if let account { known = try await credentials.credentials(of: account) }
        let challenge = try await open(
            .assertion, account, session, known.map(\.id), UserRequirements(verification: verification))
        return RequestOptions(
            challenge: challenge, relyingPartyIdentifier: verifier.relyingPartyIdentifier,
            allowed: known.map(CredentialDescriptor.init), lifetime: lifetime, verification: verification,
            hints: hints, extensions: extensions)
    }

    /// Verifies the answer and stores the counter and the date. Returns the account that signed in.
    public func finishAssertion(_ response: AssertionResponse, session: Data? = nil) async throws -> SignIn {
        let challenge = try await take(answeredBy: response.clientDataJSON, .assertion, session)
        guard let credential = try await credentials.credential(response.credentialID) else {
            throw CeremonyError.credentialUnknown
        }
        var assertion = try verifier.verifyAssertion(
            response, challenge: challenge.value, credential: credential, account: challenge.account,
            allowed: challenge.allowedCredentials, requirements: challenge.requirements)
        assertion.use.date = clock()
        switch try await credentials.accept(assertion.use) {
        case .accepted: return SignIn(account: credential.userHandle, assertion: assertion)
        case .unknownCredential: throw CeremonyError.credentialUnknown
        case .counterNotIncreased(let stored):
            throw CeremonyError.counterNotIncreased(stored: stored, received: assertion.use.signatureCounter)
        }
    }

    // MARK: the credentials of an account

    /// The credentials of an account, the oldest first; those of earlier versions, which have no date, come before.
    public func credentials(of account: Data) async throws -> [CredentialRecord] {
        try await credentials.credentials(of: account).sorted {
            ($0.creation ?? .distantPast) < ($1.creation ?? .distantPast)
        }
    }

    /// Gives a credential a name that the person sees; nil takes it away. Returns false if the account has no such credential.
    ///
    /// - Throws: ``CeremonyError/nicknameLength(_:)`` for a name without bytes or with more than 256.
    public func renameCredential(_ id: Data, of account: Data, to nickname: String?) async throws -> Bool {
        if let count = nickname?.utf8.count, !(1...Limits.nicknameByteCount).contains(count) {
            throw CeremonyError.nicknameLength(count)
        }
        return try await credentials.rename(id, of: account, to: nickname)
    }

    /// Removes a credential: it signs in no more. Returns false if the account has no such credential. Only the caller knows
    /// whether the account has another way in, and ends the sessions of who signed in with the credential.
    public func removeCredential(_ id: Data, of account: Data) async throws -> Bool {
        try await credentials.remove(id, of: account)
    }

    /// As ``removeCredential(_:of:)``, but the last credential stays: for accounts without another way in. The store looks and
    /// removes in one step, so two pages that remove two credentials leave one.
    public func removeCredentialUnlessLast(_ id: Data, of account: Data) async throws -> CredentialRemovalOutcome {
        try await credentials.removeUnlessLast(id, of: account)
    }

    /// What a page tells the person's passkey manager after a credential was removed.
    public func acceptedCredentials(of account: Data) async throws -> AcceptedCredentials {
        AcceptedCredentials(
            relyingPartyIdentifier: verifier.relyingPartyIdentifier, account: account,
            credentials: try await credentials.credentials(of: account).map(\.id))
    }

    // MARK: rights

    /// A challenge for a program that signs with a right of its owner.
    public func beginRightSignature(account: Data, session: Data? = nil) async throws -> Data {
        try await open(.right, account, session, [], UserRequirements(verification: .required))
    }

    /// Verifies a right's signature over a challenge of ``beginRightSignature(account:session:)``, which then is used up.
    /// Returns the account. Throws ``RightSignatureError`` too.
    ///
    /// - Parameter key: finds the key of the account that the challenge was made for. A key of an account that the program
    ///   names instead would let the owner of that key into this account.
    public func finishRightSignature(
        _ signature: Data, challenge value: Data, session: Data? = nil,
        key: (_ account: Data) async throws -> RightPublicKey
    ) async throws -> Data {
        let challenge = try await take(value, .right, session)
        guard let account = challenge.account else { throw CeremonyError.challengeNotOpen }
        try await key(account).verify(signature, of: value)
        return account
    }

    // MARK: challenges

    private func open(
        _ purpose: OpenChallenge.Purpose, _ account: Data?, _ session: Data?, _ allowed: [Data],
        _ requirements: UserRequirements
    ) async throws -> Data {
        var generator = SystemRandomNumberGenerator()
        let value = Data((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
        let date = clock()
        let challenge = OpenChallenge(
            value: value, purpose: purpose, account: account, session: session, allowedCredentials: allowed,
            verification: requirements.verification, presence: requirements.presence,
            protection: requirements.protection,
            expiration: date.addingTimeInterval(TimeInterval(lifetime.components.seconds)))
        try await challenges.add(challenge, at: date)
        return value
    }

    /// The challenge that client data answers.
    private func take(
        answeredBy clientDataJSON: Data, _ purpose: OpenChallenge.Purpose, _ session: Data?
    ) async throws -> OpenChallenge {
        let clientData = try WebAuthnVerifier.clientData(clientDataJSON)
        guard let value = Data(base64URLEncoded: clientData.challenge) else { throw CeremonyError.challengeNotOpen }
        return try await take(value, purpose, session)
    }

    private func take(
        _ value: Data, _ purpose: OpenChallenge.Purpose, _ session: Data?
    ) async throws -> OpenChallenge {
        guard let challenge = try await challenges.take(value, at: clock()) else {
            throw CeremonyError.challengeNotOpen
        }
        guard challenge.purpose == purpose else { throw CeremonyError.ceremonyMismatch }
        guard challenge.session == session else { throw CeremonyError.sessionMismatch }
        return challenge
    }
}

extension OpenChallenge {
    fileprivate var requirements: UserRequirements {
        UserRequirements(verification: verification, presence: presence, protection: protection)
    }
}

/// Who signed in, and how.
public struct SignIn: Sendable {
    public let account: Data
    public let assertion: Assertion
}
