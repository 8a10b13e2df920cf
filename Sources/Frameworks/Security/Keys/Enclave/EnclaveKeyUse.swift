package import AccessControl
package import OstiaryClient
import OstiaryMessages
import Synchronization

/// Uses a key of the enclave under the context that the program bound to it, or under one of its own.
///
/// The daemon asks the person when the key is authorized in the context, and only for factors that the context does not
/// hold yet.
package final class EnclaveKeyUse: @unchecked Sendable {
    // SAFETY: (@unchecked) everything is immutable or behind a lock but `context`, whose protocol says that it may be used
    // from several threads.
    private let key: EnclaveKey
    private let authentication: ItemAuthentication
    /// For operations that ask for nothing: it never holds a proof, so sharing it among operations shows nothing.
    private let unrestricted = AuthorizationContext()
    /// The contexts, by identity, in which the key was authorized; a grant that has ended is noticed when it is used.
    private let authorized = Mutex<Set<ObjectIdentifier>>([])

    init(_ key: EnclaveKey, _ authentication: ItemAuthentication) {
        self.key = key
        self.authentication = authentication
    }

    /// Uses the key under `context` of an `LAContext`; nil for one of its own per operation.
    package convenience init(_ key: EnclaveKey, context: (any AuthenticationContext)?) {
        self.init(key, ItemAuthentication(context: context))
    }

    /// Carries out a private operation.
    ///
    /// - Throws: an `NSError` as the enclave reports it: of LocalAuthentication for what concerns the person, of
    ///   `NSOSStatusErrorDomain` for the rest.
    package func perform<Result: ~Copyable>(
        _ operation: AccessControl.Operation, _ work: (AuthorizationContext) throws -> Result
    ) throws -> Result {
        do { return try authorizing(operation, work) } catch let error as OstiaryError {
            throw ErrorSurface.error(for: error.isFailure(.notFound) ? Self.missing : error)
        }
    }

    /// Keys are used like rights, and an absent object has no kind. Only this code knows that the program looked for a
    /// key.
    private static let missing = OstiaryError(
        .init(.notFound), "There is no such key any more, or this program is not in its access group.",
        cause: "key.not-found")

    private func authorizing<Result: ~Copyable>(
        _ operation: AccessControl.Operation, _ work: (AuthorizationContext) throws -> Result
    ) throws -> Result {
        let use = try authentication.use(reason: "use a key of your keychain")
        let context = use.context ?? ownContext(for: operation)
        let interaction = use.interaction ?? Interaction(reason: "", isAllowed: false)
        guard authorized.withLock({ $0.contains(ObjectIdentifier(context)) }) else {
            try authorize(in: context, interaction)
            return try work(context)
        }
        do { return try work(context) } catch let error as OstiaryError where error.isEndOfGrant {
            try authorize(in: context, interaction)
            return try work(context)
        }
    }

    private func ownContext(for operation: AccessControl.Operation) -> AuthorizationContext {
        let asksForNothing = key.accessControl[operation]?.isUnrestricted ?? false
        return asksForNothing ? unrestricted : AuthorizationContext()
    }

    private func authorize(in context: AuthorizationContext, _ interaction: Interaction) throws {
        try context.authorize(.right(id: key.id), interaction: interaction)
        // A context for one operation may leave its identity to a later one; it is not remembered.
        guard context === unrestricted || authentication.context != nil else { return }
        _ = authorized.withLock { $0.insert(ObjectIdentifier(context)) }
    }
}

extension OstiaryError {
    /// Whether the grant that was used is no more: taken back by a lock, or gone with its connection.
    fileprivate var isEndOfGrant: Bool {
        isFailure(.notAuthorized) || isFailure(.unknownContext) || code == .connectionLost
    }
}
