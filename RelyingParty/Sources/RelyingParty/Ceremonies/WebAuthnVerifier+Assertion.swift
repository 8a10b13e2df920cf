import Crypto
public import Foundation

/// What a client sends after a credential signed.
public struct AssertionResponse: Sendable {
    public var credentialID: Data
    public var clientDataJSON: Data
    public var authenticatorData: Data
    public var signature: Data
    /// The account, as the authenticator knows it; only discoverable credentials always send one.
    public var userHandle: Data?
    /// Whether the authenticator is part of the machine. A hint from the client.
    public var attachment: AuthenticatorAttachment?
    public var extensionResults: ClientExtensionResults

    public init(
        credentialID: Data, clientDataJSON: Data, authenticatorData: Data, signature: Data, userHandle: Data? = nil,
        attachment: AuthenticatorAttachment? = nil, extensionResults: ClientExtensionResults = ClientExtensionResults()
    ) {
        self.credentialID = credentialID
        self.clientDataJSON = clientDataJSON
        self.authenticatorData = authenticatorData
        self.signature = signature
        self.userHandle = userHandle
        self.attachment = attachment
        self.extensionResults = extensionResults
    }
}

/// An assertion that was verified. ``use`` must be put into the store before the person is signed in: only the store can
/// tell that no other server took the same counter.
public struct Assertion: Sendable {
    public var use: CredentialUse
    /// Whether the authenticator verified who was there.
    public let isUserVerified: Bool
    /// What the client says of extensions; nobody signed it.
    public let extensionResults: ClientExtensionResults
}

extension WebAuthnVerifier {
    /// Verifies the answer to a sign-in (WebAuthn Level 3, section 7.2).
    ///
    /// - Parameters:
    ///   - challenge: the challenge that was sent. It must not be accepted a second time.
    ///   - credential: the record of ``AssertionResponse/credentialID``.
    ///   - account: the account that was named beforehand; nil if the authenticator is to name it.
    ///   - allowed: the credentials that were asked for; empty if any was.
    ///   - key: the decoded key of `credential`, if it is at hand.
    public func verifyAssertion(
        _ response: AssertionResponse, challenge: Data, credential: CredentialRecord, account: Data? = nil,
        allowed: [Data] = [], requirements: UserRequirements = UserRequirements(), key: CredentialPublicKey? = nil
    ) throws(CeremonyError) -> Assertion {
        try check(response, belongsTo: credential, account: account, allowed: allowed)
        try check(Self.clientData(response.clientDataJSON), .assertion, challenge: challenge)
        guard response.authenticatorData.count <= Limits.assertionDataByteCount else {
            throw .authenticatorData(.tooLong(response.authenticatorData.count))
        }
        let data = try Self.authenticatorData([UInt8](response.authenticatorData)[...], hasCredential: false)
        try check(data, requirements: requirements)
        guard data.flags.contains(.backupEligible) == credential.isBackupEligible else {
            throw .backupEligibilityChanged
        }
        let message = SignedMessage(
            authenticatorData: data.bytes, clientDataHash: SHA256.hash(data: response.clientDataJSON))
        guard try key.orDecoded(from: credential).isValid(response.signature, for: message) else {
            throw .signatureInvalid
        }
        let use = CredentialUse(
            credentialID: credential.id, signatureCounter: data.signatureCounter,
            isBackedUp: data.flags.contains(.backedUp))
        guard use.follows(credential.signatureCounter) else {
            throw .counterNotIncreased(stored: credential.signatureCounter, received: data.signatureCounter)
        }
        return Assertion(
            use: use, isUserVerified: data.flags.contains(.userVerified),
            extensionResults: response.extensionResults)
    }

    /// Whose credential it is (steps 5 and 6).
    private func check(
        _ response: AssertionResponse, belongsTo credential: CredentialRecord, account: Data?, allowed: [Data]
    ) throws(CeremonyError) {
        guard response.credentialID == credential.id else { throw .credentialIDMismatch }
        guard allowed.isEmpty || allowed.contains(response.credentialID) else { throw .credentialNotAllowed }
        if let account {
            guard credential.userHandle == account, response.userHandle ?? account == account else {
                throw .userHandleMismatch
            }
        } else {
            guard let userHandle = response.userHandle else { throw .userHandleMissing }
            guard userHandle == credential.userHandle else { throw .userHandleMismatch }
        }
    }
}

extension CredentialPublicKey? {
    fileprivate func orDecoded(from credential: CredentialRecord) throws(CeremonyError) -> CredentialPublicKey {
        if let self { return self }
        do { return try CredentialPublicKey(cose: credential.publicKey) } catch { throw .publicKey(error) }
    }
}
