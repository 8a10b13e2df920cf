import AssociationFiles
import AuthenticatorRequests
import Crypto
import ExactNames
import Foundation
import OstiaryMessages
import Refusals

/// One way to make a credential, after its message was checked.
struct RequestedCreation {
    let attachment: AuthenticatorAttachment
    let relyingParty: RelyingPartyIdentifier
    let clientData: ClientData
    let creation: CredentialCreation

    init(_ message: WireCredentialCreation) throws(Refusal) {
        attachment = try AuthenticatorAttachment(message.attachment)
        relyingParty = try CheckedField.relyingParty(message.relyingPartyID)
        clientData = try CheckedField.clientData(.create, message.challenge, relyingParty)
        try CheckedField.require(CredentialLimits.userHandleByteCount.contains(message.userID.count), "user handle")
        try CheckedField.require(message.algorithms.count <= CredentialLimits.algorithmCount, "list of algorithms")
        let algorithms = message.algorithms.compactMap { Int(exactly: $0) }
        var creation = CredentialCreation(
            clientDataHash: clientData.hash, relyingParty: RelyingPartyName(identifier: ExactName(relyingParty.domain)),
            user: CredentialUser(
                identifier: Array(message.userID), name: try CheckedField.name(message.userName),
                displayName: try CheckedField.name(message.userDisplayName)),
            algorithms: algorithms.isEmpty ? [CheckedField.es256] : algorithms)
        creation.excluded = try CheckedField.descriptors(message.excluded)
        creation.userVerification = try Preference(message.userVerification) ?? .preferred
        creation.discoverable = try Preference(message.residentKey) ?? .discouraged
        creation.attestation = try AttestationPreference(message.attestation)
        creation.extensions.wantsPRF = message.wantsPRF || message.prf != nil
        creation.extensions.salts = try message.prf.map(CheckedField.salts)
        creation.extensions.largeBlob = try Preference(message.largeBlob)
        self.creation = creation
    }
}

/// One way to sign, after its message was checked.
struct RequestedAssertion {
    let attachment: AuthenticatorAttachment
    let relyingParty: RelyingPartyIdentifier
    let clientData: ClientData
    let assertion: CredentialAssertion

    init(_ message: WireCredentialAssertion) throws(Refusal) {
        attachment = try AuthenticatorAttachment(message.attachment)
        relyingParty = try CheckedField.relyingParty(message.relyingPartyID)
        clientData = try CheckedField.clientData(.get, message.challenge, relyingParty)
        var assertion = CredentialAssertion(
            clientDataHash: clientData.hash, relyingParty: RelyingPartyName(identifier: ExactName(relyingParty.domain)))
        assertion.allowed = try CheckedField.descriptors(message.allowed)
        assertion.userVerification = try Preference(message.userVerification) ?? .preferred
        // An identifier of another host would find credentials that were made for that one (FIDO AppID 3.1.2).
        assertion.appID = try CheckedField.appID(message.appID, relyingParty)
        assertion.salts = try message.prf.map(CheckedField.salts)
        try CheckedField.require(
            message.prfByCredential.count <= CredentialLimits.descriptorCount, "list of PRF inputs")
        for entry in message.prfByCredential {
            let identifier = Array(entry.credentialID)
            try CheckedField.require(assertion.allowed.contains { $0.identifier == identifier }, "list of PRF inputs")
            assertion.saltsByCredential[identifier] = try CheckedField.salts(entry.inputs)
        }
        assertion.largeBlob = try CheckedField.largeBlob(message)
        self.assertion = assertion
    }
}

/// The checks of a program's request. A refusal names the field and repeats nothing of it.
private enum CheckedField {
    /// COSE's number for ECDSA with SHA-256 on P-256.
    static let es256 = -7

    static func require(_ holds: Bool, _ field: String) throws(Refusal) {
        guard !holds else { return }
        throw Refusal(
            .invalidParameter, "The \(field) of the request has the wrong size or form.", cause: "credential.parameter")
    }

    static func relyingParty(_ text: String) throws(Refusal) -> RelyingPartyIdentifier {
        guard let relyingParty = RelyingPartyIdentifier(text) else {
            throw Refusal(
                .invalidParameter,
                "The relying party's identifier is no domain; give one in lower case, such as example.com.",
                cause: "credential.relying-party")
        }
        return relyingParty
    }

    static func clientData(
        _ kind: ClientData.Kind, _ challenge: Data, _ relyingParty: RelyingPartyIdentifier
    ) throws(Refusal) -> ClientData {
        try require(CredentialLimits.challengeByteCount.contains(challenge.count), "challenge")
        return ClientData(kind, challenge: challenge, for: relyingParty)
    }

    static func name(_ text: String) throws(Refusal) -> String? {
        try require(text.utf8.count <= CredentialLimits.nameByteCount, "account's name")
        return text.isEmpty ? nil : text
    }

    static func descriptors(_ messages: [WireCredentialDescriptor]) throws(Refusal) -> [CredentialDescriptor] {
        try require(messages.count <= CredentialLimits.descriptorCount, "list of credentials")
        var descriptors: [CredentialDescriptor] = []
        for message in messages {
            let hasFittingTransports =
                message.transports.count <= CredentialLimits.transportCount
                && message.transports.allSatisfy { $0.utf8.count <= CredentialLimits.transportByteCount }
            try require(
                CredentialLimits.identifierByteCount.contains(message.credentialID.count) && hasFittingTransports,
                "list of credentials")
            descriptors.append(
                CredentialDescriptor(identifier: Array(message.credentialID), transports: message.transports))
        }
        return descriptors
    }

    static func appID(_ text: String, _ relyingParty: RelyingPartyIdentifier) throws(Refusal) -> String? {
        guard !text.isEmpty else { return nil }
        let origin = "https://\(relyingParty.domain)"
        try require(
            text.utf8.count <= CredentialLimits.appIDByteCount
                && (text == origin || ExactName(text).hasPrefix("\(origin)/")),
            "appID")
        return text
    }

    static func largeBlob(_ message: WireCredentialAssertion) throws(Refusal) -> LargeBlobOperation? {
        guard let written = message.writtenLargeBlob else { return message.readsLargeBlob ? .read : nil }
        // A blob belongs to one credential (WebAuthn 10.1.5).
        try require(
            !message.readsLargeBlob && message.allowed.count == 1
                && written.count <= CredentialLimits.largeBlobByteCount, "large blob")
        return .write(Array(written))
    }

    /// WebAuthn 10.1.4: a program cannot choose a salt, so it gets no output that another use of hmac-secret has.
    static func salts(_ inputs: WirePRFInputs) throws(Refusal) -> PRFSalts {
        for input in [inputs.first, inputs.second ?? Data()] {
            try require(input.count <= CredentialLimits.prfInputByteCount, "PRF input")
        }
        return PRFSalts(first: salt(inputs.first), second: inputs.second.map(salt))
    }

    private static func salt(_ input: Data) -> [UInt8] {
        Array(SHA256.hash(data: Data("WebAuthn PRF\0".utf8) + input))
    }
}

extension AuthenticatorAttachment {
    init(_ attachment: WireAttachment) throws(Refusal) {
        switch attachment {
        case .platform: self = .platform
        case .crossPlatform: self = .crossPlatform
        case .unspecified, .UNRECOGNIZED: throw .unknownNumber
        }
    }

    var message: WireAttachment {
        switch self {
        case .platform: .platform
        case .crossPlatform: .crossPlatform
        }
    }
}

extension Preference {
    fileprivate init?(_ preference: WirePreference) throws(Refusal) {
        switch preference {
        case .unspecified: return nil
        case .required: self = .required
        case .preferred: self = .preferred
        case .discouraged: self = .discouraged
        case .UNRECOGNIZED: throw .unknownNumber
        }
    }
}

extension AttestationPreference {
    fileprivate init(_ attestation: WireAttestation) throws(Refusal) {
        switch attestation {
        case .unspecified: self = .none
        case .indirect: self = .indirect
        case .direct: self = .direct
        case .enterprise: self = .enterprise
        case .UNRECOGNIZED: throw .unknownNumber
        }
    }
}

extension Refusal {
    fileprivate static let unknownNumber = Refusal(
        .invalidParameter, "The request has a number that this version does not know.", cause: "credential.parameter")
}
