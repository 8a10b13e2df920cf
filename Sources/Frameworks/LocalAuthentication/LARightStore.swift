import AccessControl
public import Foundation
import OstiaryClient
import OstiaryMessages
import SecretMemory

/// Where rights are kept across runs of the program (Apple's `LARightStore`). The daemon keeps them; a program sees its
/// own.
///
/// Errors are `NSError`s of `NSOSStatusErrorDomain`: `errSecItemNotFound` for an unknown identifier,
/// `errSecDuplicateItem` for one that is taken, `errSecParam` for an empty one, `errSecNotAvailable` when no daemon
/// answers or its store cannot be read. Nothing prompts.
public final class LARightStore: NSObject, Sendable {
    /// The store of this program (Apple's `sharedStore`).
    public class var shared: LARightStore { sharedStore }

    private static let sharedStore = LARightStore(service: OstiaryService())
    private let service: any AuthorizationService

    /// The store of a daemon of the caller's choice.
    package init(service: any AuthorizationService) {
        self.service = service
        super.init()
    }

    // MARK: async

    // Those that take a right run where their caller runs, so that an actor can pass one that it holds.

    /// The right that was saved under `identifier`.
    public func right(forIdentifier identifier: String) async throws -> LAPersistedRight {
        persisted(try await BlockingCalls.run { [self] _ in try find(identifier) })
    }

    /// Saves a right: makes a key that is usable only under the right's requirement. The passed right does not change;
    /// the saved one is not authorized.
    ///
    /// If a right is saved under `identifier` already, it stays with its key, and the call fails.
    @discardableResult
    nonisolated(nonsending) public func saveRight(
        _ right: LARight, identifier: String
    ) async throws -> LAPersistedRight {
        let accessControl = right.accessControl
        return persisted(try await BlockingCalls.run { [self] _ in try save(accessControl, identifier, nil) })
    }

    /// Saves a right as ``saveRight(_:identifier:)`` does, and `secret` with it: at most 64 KiB. More is refused
    /// with an `NSError` of `NSOSStatusErrorDomain` and code `errSecParam`, and nothing is saved.
    @discardableResult
    nonisolated(nonsending) public func saveRight(
        _ right: LARight, identifier: String, secret: Data
    ) async throws -> LAPersistedRight {
        let accessControl = right.accessControl
        return persisted(try await BlockingCalls.run { [self] _ in try save(accessControl, identifier, secret) })
    }

    /// Destroys a right with its key and secret, and ends its authorization. Asks nobody.
    nonisolated(nonsending) public func removeRight(_ right: LAPersistedRight) async throws {
        let (id, authorization) = (right.id, right.authorization)
        try await BlockingCalls.run { [self] _ in try remove(id, authorization) }
    }

    /// Destroys the right that was saved under `identifier`, with its key and secret. Asks nobody.
    public func removeRight(forIdentifier identifier: String) async throws {
        try await BlockingCalls.run { [self] _ in try service.removeRight(checked(identifier)) }
    }

    /// Destroys all rights of this program. Asks nobody.
    public func removeAllRights() async throws {
        try await BlockingCalls.run { [self] _ in try service.removeAllRights() }
    }

    // MARK: completion handlers

    /// The same as ``right(forIdentifier:)``; exactly one argument of the completion is not nil.
    public func right(
        forIdentifier identifier: String, completion: @escaping @Sendable (LAPersistedRight?, (any Error)?) -> Void
    ) {
        BlockingCalls.start({ [self] in persisted(try find(identifier)) }, completion: completion)
    }

    /// The same as ``saveRight(_:identifier:)``; exactly one argument of the completion is not nil.
    public func saveRight(
        _ right: LARight, identifier: String, completion: @escaping @Sendable (LAPersistedRight?, (any Error)?) -> Void
    ) {
        let accessControl = right.accessControl
        BlockingCalls.start({ [self] in persisted(try save(accessControl, identifier, nil)) }, completion: completion)
    }

    /// The same as ``saveRight(_:identifier:secret:)``; exactly one argument of the completion is not nil.
    public func saveRight(
        _ right: LARight, identifier: String, secret: Data,
        completion: @escaping @Sendable (LAPersistedRight?, (any Error)?) -> Void
    ) {
        let accessControl = right.accessControl
        BlockingCalls.start(
            { [self] in persisted(try save(accessControl, identifier, secret)) }, completion: completion)
    }

    /// The same as ``removeRight(_:)``.
    public func removeRight(_ right: LAPersistedRight, completion: @escaping @Sendable ((any Error)?) -> Void) {
        let (id, authorization) = (right.id, right.authorization)
        BlockingCalls.start({ [self] in try remove(id, authorization) }, completion: completion)
    }

    /// The same as ``removeRight(forIdentifier:)``.
    public func removeRight(
        forIdentifier identifier: String, completion: @escaping @Sendable ((any Error)?) -> Void
    ) {
        BlockingCalls.start({ [self] in try service.removeRight(checked(identifier)) }, completion: completion)
    }

    /// The same as ``removeAllRights()``.
    public func removeAllRights(completion: @escaping @Sendable ((any Error)?) -> Void) {
        BlockingCalls.start({ [self] in try service.removeAllRights() }, completion: completion)
    }

    // MARK: the operations

    private func find(_ identifier: String) throws -> StoredRight { try service.right(checked(identifier)) }

    private func save(_ accessControl: AccessControl, _ identifier: String, _ secret: Data?) throws -> StoredRight {
        let identifier = try checked(identifier)
        do {
            guard let secret else {
                return try service.createRight(identifier, accessControl: accessControl, secret: nil)
            }
            return try service.createRight(
                identifier, accessControl: accessControl, secret: SecretBytes(sending: secret))
        } catch let error as OstiaryError where error.isFailure(.duplicate) {
            // The daemon's advice is for the person at the command.
            throw OstiaryError(
                error.code,
                "A right is saved under this identifier already, and stays with its key. Use it with "
                    + "right(forIdentifier:), or destroy it and its key first with removeRight(forIdentifier:).",
                cause: error.cause)
        }
    }

    private func remove(_ id: Data, _ authorization: RightAuthorization) throws {
        try service.removeRight(id: id)
        authorization.deauthorize {}
    }

    private func persisted(_ stored: StoredRight) -> LAPersistedRight {
        LAPersistedRight(stored: stored, service: service)
    }

    private func checked(_ identifier: String) throws -> String {
        guard !identifier.isEmpty else {
            throw OstiaryError(
                .init(.invalidParameter), "The identifier is empty; a right needs one.", cause: "identifier.empty")
        }
        return identifier
    }
}
