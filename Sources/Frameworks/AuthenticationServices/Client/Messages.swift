import Crypto
import Foundation
import OstiaryMessages
import SecretMemory

// Requests and answers as messages.

extension RegistrationFields {
    func message(_ attachment: WireAttachment) -> WireCredentialCreation {
        .with {
            $0.attachment = attachment
            $0.relyingPartyID = relyingPartyIdentifier
            $0.challenge = challenge
            $0.userID = userID
            $0.userName = name
            $0.userDisplayName = displayName ?? ""
            $0.algorithms = algorithms.map { Int64($0.rawValue) }
            $0.excluded = (excluded ?? []).map(\.message)
            $0.userVerification = WirePreference(word: userVerification.rawValue)
            // A passkey is always found without its identifier.
            $0.residentKey = attachment == .platform ? .required : WirePreference(word: residentKey.rawValue)
            $0.attestation = WireAttestation(word: attestation.rawValue)
            $0.largeBlob = largeBlob?.message ?? .unspecified
            $0.wantsPRF = prf != nil
            $0.prf = prf?.inputValues?.message
        }
    }
}

extension AssertionFields {
    func message(_ attachment: WireAttachment) -> WireCredentialAssertion {
        .with {
            $0.attachment = attachment
            $0.relyingPartyID = relyingPartyIdentifier
            $0.challenge = challenge
            $0.allowed = allowed.map(\.message)
            $0.userVerification = WirePreference(word: userVerification.rawValue)
            $0.appID = appID ?? ""
            $0.prf = prf?.inputValues?.message
            $0.prfByCredential = (prf?.perCredentialInputValues ?? [:])
                .sorted { $0.key.lexicographicallyPrecedes($1.key) }
                .map { credential, inputs in
                    WireCredentialPRFInputs.with { ($0.credentialID, $0.inputs) = (credential, inputs.message) }
                }
            switch largeBlob?.operation {
            case .read: $0.readsLargeBlob = true
            case .write(let blob): $0.writtenLargeBlob = blob
            case nil: break
            }
        }
    }
}

extension DescriptorFields {
    fileprivate var message: WireCredentialDescriptor {
        .with { ($0.credentialID, $0.transports) = (credentialID, transports) }
    }
}

extension ASAuthorizationPublicKeyCredentialPRFAssertionInput.InputValues {
    fileprivate var message: WirePRFInputs { .with { ($0.first, $0.second) = (saltInput1, saltInput2) } }
}

extension ASAuthorizationPublicKeyCredentialLargeBlobRegistrationInput {
    fileprivate var message: WirePreference { supportRequirement == .required ? .required : .preferred }
}

extension WirePreference {
    /// One of WebAuthn's words. Another word counts as none (WebAuthn 5.1.3, "unknown values must be ignored").
    fileprivate init(word: String) {
        switch word {
        case "required": self = .required
        case "preferred": self = .preferred
        case "discouraged": self = .discouraged
        default: self = .unspecified
        }
    }
}

extension WireAttestation {
    /// One of WebAuthn's words. Another word counts as none.
    fileprivate init(word: String) {
        switch word {
        case "indirect": self = .indirect
        case "direct": self = .direct
        case "enterprise": self = .enterprise
        default: self = .unspecified
        }
    }
}

// MARK: - Answers

/// The outputs of the PRF extension: one or two, of 32 bytes each.
struct PRFKeys: Sendable {
    let first: SymmetricKey
    let second: SymmetricKey?

    private static let byteCount = 32

    /// nil when there are none, or not of this form.
    init?(_ outputs: borrowing SecretBytes) {
        let count = outputs.count
        guard count == Self.byteCount || count == 2 * Self.byteCount else { return nil }
        (first, second) = unsafe outputs.withUnsafeBytes { bytes in
            let second: SymmetricKey? =
                unsafe count == Self.byteCount
                ? nil : SymmetricKey(data: UnsafeRawBufferPointer(rebasing: bytes[Self.byteCount...]))
            return unsafe (
                SymmetricKey(data: UnsafeRawBufferPointer(rebasing: bytes[..<Self.byteCount])), second
            )
        }
    }
}

extension RegisteredFields {
    init(_ message: WireRegisteredCredential, _ keys: PRFKeys?) {
        self.init(
            credentialID: message.credentialID, clientDataJSON: message.clientDataJSON,
            attestationObject: message.attestationObject, transports: message.transports,
            isPlatform: message.attachment == .platform)
        if let isSupported = message.supportsLargeBlob { largeBlob = isSupported ? .supported : .unsupported }
        if let keys {
            prf = ASAuthorizationPublicKeyCredentialPRFRegistrationOutput(first: keys.first, second: keys.second)
        } else if let isSupported = message.supportsPRF {
            prf = isSupported ? .supported : .unsupported
        }
    }

    var credential: any ASAuthorizationCredential {
        guard isPlatform else { return ASAuthorizationSecurityKeyPublicKeyCredentialRegistration(self) }
        return ASAuthorizationPlatformPublicKeyCredentialRegistration(self)
    }
}

extension AssertedFields {
    /// - Parameter readsLargeBlob: whether the request asked for the blob.
    init(_ message: WireAssertedCredential, _ keys: PRFKeys?, readsLargeBlob: Bool) {
        self.init(
            credentialID: message.credentialID, clientDataJSON: message.clientDataJSON,
            authenticatorData: message.authenticatorData, signature: message.signature,
            userID: message.userHandle ?? Data(), usedAppID: message.usedAppID,
            isPlatform: message.attachment == .platform)
        if let isWritten = message.wroteLargeBlob {
            largeBlob = .write(success: isWritten)
        } else if readsLargeBlob {
            largeBlob = .read(data: message.largeBlob)
        }
        prf = keys.map { ASAuthorizationPublicKeyCredentialPRFAssertionOutput(first: $0.first, second: $0.second) }
    }

    var credential: any ASAuthorizationCredential {
        guard isPlatform else { return ASAuthorizationSecurityKeyPublicKeyCredentialAssertion(self) }
        return ASAuthorizationPlatformPublicKeyCredentialAssertion(self)
    }
}
