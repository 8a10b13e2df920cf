public import Foundation

/// What a store says to the use of a credential.
public enum CredentialUseOutcome: Sendable, Equatable {
    case accepted
    /// The store has this counter, or a greater one.
    case counterNotIncreased(stored: UInt32)
    /// The credential is not in the store.
    case unknownCredential
}

/// A store's answer to the removal of a credential that may be the last one.
public enum CredentialRemovalOutcome: Sendable, Equatable {
    case removed
    /// The account has no other credential, so this one stays.
    case isLast
    /// The account has no such credential.
    case unknownCredential
}

/// Keeps credentials of accounts. Several servers may share one store.
public protocol CredentialStore: Sendable {
    /// Returns false, and changes nothing, if the store has a credential of this ID.
    func add(_ credential: CredentialRecord) async throws -> Bool

    /// Adds the first credential of an account. Returns false, and changes nothing, if the account has one already or the store has
    /// a credential of this ID, no matter how many servers ask at the same time.
    func addFirst(_ credential: CredentialRecord) async throws -> Bool

    func credential(_ id: Data) async throws -> CredentialRecord?

    /// The credentials of an account, in the order of their IDs.
    func credentials(of account: Data) async throws -> [CredentialRecord]

    /// Stores counter, backup state and date, if ``CredentialUse/follows(_:)`` holds for the stored counter at that moment. No
    /// counter besides 0 is accepted twice, no matter how many servers ask at the same time.
    func accept(_ use: CredentialUse) async throws -> CredentialUseOutcome

    /// Gives a credential another name, or none. Returns false if the account has no such credential.
    func rename(_ id: Data, of account: Data, to nickname: String?) async throws -> Bool

    /// Returns false if the account has no such credential.
    func remove(_ id: Data, of account: Data) async throws -> Bool

    /// Removes a credential unless it is the last one of its account. Of several such calls one finds the last one, no matter how
    /// many servers ask at the same time.
    func removeUnlessLast(_ id: Data, of account: Data) async throws -> CredentialRemovalOutcome
}
