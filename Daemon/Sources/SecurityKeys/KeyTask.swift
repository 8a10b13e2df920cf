import AuthenticatorRequests
import SecretMemory
import SecurityKeyProtocol

/// A task for the key that the person touches.
protocol KeyTask {
    associatedtype Outcome

    /// Whether even the only key is chosen by a touch before it is asked for a PIN, because the person may answer otherwise. The
    /// task then ends with ``KeyNeedsPIN``.
    var choosesByTouch: Bool { get }

    /// Whether another PIN replaces the typed one.
    var changesPIN: Bool { get }

    /// How to ask a key for it.
    func plan(for description: KeyDescription) -> KeyPlan

    /// Another request to a key that has no credential for the request of its plan; nil when there is none.
    func otherRequest(for description: KeyDescription) -> KeyRequest?

    /// The next request to the same key, with the same PIN; nil when its answer is the last one.
    func next(after report: KeyReport, from description: KeyDescription) throws -> KeyRequest?

    /// The meaning of the key's answer.
    func outcome(
        of report: KeyReport, secret: consuming SecretBytes, from description: KeyDescription,
        _ question: any CredentialQuestion
    ) throws -> Outcome
}

extension KeyTask {
    var choosesByTouch: Bool { false }
    var changesPIN: Bool { false }

    func otherRequest(for description: KeyDescription) -> KeyRequest? { nil }

    func next(after report: KeyReport, from description: KeyDescription) throws -> KeyRequest? { nil }
}

/// The person has chosen this key, and it needs its PIN.
struct KeyNeedsPIN: Error { let port: SecurityKeyPort }
