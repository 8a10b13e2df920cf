import Crypto
import Foundation

/// Checks the answers of authenticators for one relying party, without a store and without a network
/// (WebAuthn Level 3, section 7).
///
/// It keeps nothing. A challenge must be taken out of its store before, and the counter put into its store afterwards:
/// ``WebAuthnServer`` does both.
public struct WebAuthnVerifier: Sendable {
    /// Whether pages in frames of other origins may use the credentials.
    public enum Framing: Sendable, Equatable {
        case refused
        /// Frames in pages of these origins. Older browsers do not name the origin of the outermost page; whether that is
        /// taken too, `evenUnnamed` says.
        case allowed(topOrigins: Set<String>, evenUnnamed: Bool = false)
    }

    /// The domain that the credentials belong to, such as `example.org`.
    public let relyingPartyIdentifier: String
    /// The origins of the pages that may use them, such as `https://login.example.org`. Programs with Apple's interface
    /// name `https://` and the domain.
    public let origins: Set<String>
    public let framing: Framing
    /// What ``CreationOptions`` offer, best first.
    public let algorithms: [COSEAlgorithm]
    public let attestation: AttestationPolicy
    private let relyingPartyHash: [UInt8]

    public init(
        relyingPartyIdentifier: String, origins: Set<String>, framing: Framing = .refused,
        algorithms: [COSEAlgorithm] = [.es256, .edDSA, .es384, .es512, .rs256],
        attestation: AttestationPolicy = AttestationPolicy()
    ) {
        self.relyingPartyIdentifier = relyingPartyIdentifier
        self.origins = origins
        self.framing = framing
        self.algorithms = algorithms
        self.attestation = attestation
        relyingPartyHash = Array(SHA256.hash(data: Data(relyingPartyIdentifier.utf8)))
    }

    /// What both ceremonies ask of client data (steps 5 to 11 of section 7.1, 8 to 14 of 7.2).
    func check(_ clientData: ClientData, _ ceremony: Ceremony, challenge: Data) throws(CeremonyError) {
        guard clientData.type == ceremony.clientDataType else { throw .ceremonyMismatch }
        guard clientData.challenge == challenge.base64URLEncoded else { throw .challengeMismatch }
        guard allows(origin: clientData.origin) else { throw .originNotAllowed }
        switch framing {
        case .refused:
            guard !clientData.isCrossOrigin, clientData.topOrigin == nil else { throw .crossOriginNotAllowed }
        case .allowed(let topOrigins, let evenUnnamed):
            let isAllowed =
                clientData.topOrigin.map { Self.isListed($0, in: topOrigins) }
                ?? (evenUnnamed || !clientData.isCrossOrigin)
            guard isAllowed else { throw .topOriginNotAllowed }
        }
    }

    /// Whether the origin is one of ``origins``, byte by byte.
    public func allows(origin: String) -> Bool { Self.isListed(origin, in: origins) }

    /// Byte by byte. Swift's own comparison takes different characters for equal ("canonical equivalence").
    private static func isListed(_ origin: String, in origins: Set<String>) -> Bool {
        origins.contains { $0.utf8.elementsEqual(origin.utf8) }
    }

    /// What both ceremonies ask of authenticator data (steps 13 to 18 of section 7.1, 15 to 19 of 7.2).
    func check(_ data: AuthenticatorData, requirements: UserRequirements) throws(CeremonyError) {
        guard data.relyingPartyHash.elementsEqual(relyingPartyHash) else { throw .relyingPartyMismatch }
        guard data.flags.contains(.userPresent) || requirements.presence == .notRequired else { throw .userNotPresent }
        guard data.flags.contains(.userVerified) || requirements.verification != .required else {
            throw .userNotVerified
        }
        guard data.flags.contains(.backupEligible) || !data.flags.contains(.backedUp) else {
            throw .backedUpWithoutEligibility
        }
    }
}

/// The two ceremonies.
public enum Ceremony: String, Sendable, Codable {
    case registration, assertion

    var clientDataType: String {
        switch self {
        case .registration: "webauthn.create"
        case .assertion: "webauthn.get"
        }
    }
}

/// What must be known of the person.
public struct UserRequirements: Sendable, Equatable {
    /// What a relying party asks for; only `required` is also checked (WebAuthn Level 3, section 5.8.6).
    public enum Verification: String, Sendable, Codable, CaseIterable {
        case required, preferred, discouraged
    }

    /// Somebody touched the authenticator. `notRequired` is for registrations that a client makes on the side after a
    /// sign-in with a password ("conditional creation").
    public enum Presence: String, Sendable, Codable, CaseIterable {
        case required
        case notRequired = "not required"
    }

    public var verification: Verification
    public var presence: Presence
    /// The least protection of a new credential; nil for any.
    public var protection: CredentialProtection?

    public init(
        verification: Verification = .preferred, presence: Presence = .required,
        protection: CredentialProtection? = nil
    ) {
        self.verification = verification
        self.presence = presence
        self.protection = protection
    }
}
