public import Foundation

/// A challenge that was sent and not answered yet.
public struct OpenChallenge: Sendable, Equatable {
    /// What the answer is for.
    public enum Purpose: String, Sendable, CaseIterable {
        case registration, assertion
        /// A signature of a right that a program saved.
        case right
    }

    /// 32 random bytes.
    public let value: Data
    public let purpose: Purpose
    /// The account; nil if the answer is to name it.
    public let account: Data?
    /// A value that only the browser or program that asked can send again, such as that of a cookie; nil for none.
    public let session: Data?
    /// The credentials that may answer; empty for any.
    public let allowedCredentials: [Data]
    public let verification: UserRequirements.Verification
    public let presence: UserRequirements.Presence
    /// The least protection of a new credential; nil for any.
    public let protection: CredentialProtection?
    public let expiration: Date

    public init(
        value: Data, purpose: Purpose, account: Data?, session: Data?, allowedCredentials: [Data],
        verification: UserRequirements.Verification, presence: UserRequirements.Presence = .required,
        protection: CredentialProtection? = nil, expiration: Date
    ) {
        self.value = value
        self.purpose = purpose
        self.account = account
        self.session = session
        self.allowedCredentials = allowedCredentials
        self.verification = verification
        self.presence = presence
        self.protection = protection
        self.expiration = expiration
    }
}

/// Keeps open challenges. Several servers may share one store.
public protocol ChallengeStore: Sendable {
    /// A store may also forget challenges that expired before `date`.
    func add(_ challenge: OpenChallenge, at date: Date) async throws

    /// Takes the challenge out of the store, unless it expired. Of all who ask for a challenge, at the same time too, one
    /// gets it, and all others get nil.
    func take(_ value: Data, at date: Date) async throws -> OpenChallenge?
}
