import Crypto
public import Foundation

/// What a client sends after it made a credential.
public struct RegistrationResponse: Sendable {
    public var credentialID: Data
    public var clientDataJSON: Data
    public var attestationObject: Data
    /// How to reach the authenticator: `usb`, `internal` and so on. A hint from the client.
    public var transports: [String]
    /// Whether the authenticator is part of the machine. A hint from the client too.
    public var attachment: AuthenticatorAttachment?
    public var extensionResults: ClientExtensionResults

    public init(
        credentialID: Data, clientDataJSON: Data, attestationObject: Data, transports: [String] = [],
        attachment: AuthenticatorAttachment? = nil, extensionResults: ClientExtensionResults = ClientExtensionResults()
    ) {
        self.credentialID = credentialID
        self.clientDataJSON = clientDataJSON
        self.attestationObject = attestationObject
        self.transports = transports
        self.attachment = attachment
        self.extensionResults = extensionResults
    }
}

/// A registration that was verified. Store ``credential`` for the account that asked for it.
public struct Registration: Sendable {
    public let credential: CredentialRecord
    public let format: AttestationFormat
    public let trust: AttestationTrust
    /// The model of the authenticator, 16 bytes.
    ///
    /// An anchored attestation of the formats `packed`, `tpm` and `apple` proves it. That of `android-key` does not: a program
    /// with such a key writes the model itself. Keys of `fido-u2f` have no model, and then all bytes are zero, whatever was
    /// sent, because the statement does not cover it.
    public let aaguid: Data
    /// What the authenticator signed of when it uses the credential; nil if it said nothing, and for `fido-u2f`. Without an
    /// attestation nobody proves it.
    public let protection: CredentialProtection?
    /// The shortest PIN of the authenticator, if it said so. Without an attestation nobody proves it.
    public let minimumPINLength: Int?
    /// What the client says of extensions; nobody signed it.
    public let extensionResults: ClientExtensionResults
    /// The authenticator's model in the metadata of the policy, if that knows it. It is proven where ``aaguid`` is.
    public let model: AuthenticatorModel?
}

extension WebAuthnVerifier {
    /// Verifies the answer to a registration (WebAuthn Level 3, section 7.1), except that no account has the credential:
    /// that is for the store to tell.
    ///
    /// - Parameters:
    ///   - challenge: the challenge that was sent. It must not be accepted a second time.
    ///   - userHandle: the account that the credential is for.
    ///   - date: the time at which certificates must be valid.
    public func verifyRegistration(
        _ response: RegistrationResponse, challenge: Data, userHandle: Data,
        requirements: UserRequirements = UserRequirements(), at date: Date
    ) async throws(CeremonyError) -> Registration {
        try check(Self.clientData(response.clientDataJSON), .registration, challenge: challenge)
        let object: AttestationObject
        do { object = try AttestationObject(response.attestationObject) } catch { throw .attestationObject(error) }
        let data = try Self.authenticatorData(object.authenticatorData, hasCredential: true)
        guard let credential = data.credential else { throw .authenticatorData(.credentialMissing) }
        try check(data, requirements: requirements)
        guard credential.id.elementsEqual(response.credentialID) else { throw .credentialIDMismatch }
        let publicKey: CredentialPublicKey
        do { publicKey = try CredentialPublicKey(credential.publicKeyValue) } catch { throw .publicKey(error) }
        guard algorithms.contains(publicKey.algorithm) else { throw .algorithmNotOffered(publicKey.algorithm) }
        let subject = AttestationSubject(
            authenticatorData: data, credential: credential, publicKey: publicKey,
            message: SignedMessage(
                authenticatorData: data.bytes, clientDataHash: SHA256.hash(data: response.clientDataJSON)))
        let (format, verdict) = try await attest(object, subject, at: date)
        let isUserVerified = data.flags.contains(.userVerified) && format.coversAuthenticatorData
        guard isUserVerified || requirements.verification != .required else { throw .userNotVerified }
        let extensions = try SignedExtensions(format.coversAuthenticatorData ? data.extensions : nil)
        if let least = requirements.protection {
            guard let protection = extensions.protection, protection >= least else { throw .protectionTooWeak }
        }
        let aaguid = format.coversAuthenticatorData ? Data(credential.aaguid) : Data(count: credential.aaguid.count)
        let record = CredentialRecord(
            id: Data(credential.id), userHandle: userHandle, publicKey: Data(credential.publicKey),
            signatureCounter: data.signatureCounter, isUserVerified: isUserVerified,
            isBackupEligible: data.flags.contains(.backupEligible), isBackedUp: data.flags.contains(.backedUp),
            transports: response.transports, aaguid: aaguid, creation: date,
            isDiscoverable: response.extensionResults.isDiscoverable)
        return Registration(
            credential: record, format: format, trust: verdict.trust, aaguid: aaguid, protection: extensions.protection,
            minimumPINLength: extensions.minimumPINLength, extensionResults: response.extensionResults,
            model: verdict.model)
    }

    private func attest(
        _ object: AttestationObject, _ subject: AttestationSubject, at date: Date
    ) async throws(CeremonyError) -> (AttestationFormat, AttestationPolicy.Verdict) {
        guard let format = AttestationFormat(rawValue: object.format) else { throw .attestation(.unsupportedFormat) }
        do {
            let evidence = try format.verify(object.statement, subject)
            let model = format.coversAuthenticatorData ? subject.credential.aaguid : nil
            return (format, try await attestation.judge(evidence, format, model: model, at: date))
        } catch {
            throw .attestation(error)
        }
    }

    static func clientData(_ json: Data) throws(CeremonyError) -> ClientData {
        do { return try ClientData(json) } catch { throw .clientData(error) }
    }

    static func authenticatorData(
        _ bytes: ArraySlice<UInt8>, hasCredential: Bool
    ) throws(CeremonyError) -> AuthenticatorData {
        do {
            return try AuthenticatorData(bytes, hasCredential: hasCredential)
        } catch {
            throw .authenticatorData(error)
        }
    }
}
