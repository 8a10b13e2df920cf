import AuthenticatorRequests
import SecretMemory
import SecurityKeyProtocol

/// What the person wants of whichever key they touch.
protocol KeyTask {
    associatedtype Outcome

    /// Whether even the only key is chosen by a touch before it is asked for a PIN, because the person may answer otherwise. The
    /// task then ends with ``KeyNeedsPIN``.
    var choosesByTouch: Bool { get }

    /// Whether a PIN that is typed is replaced by another.
    var changesPIN: Bool { get }

    /// How a key is asked for it.
    func plan(for description: KeyDescription) -> KeyPlan

    /// What the same key is asked next, with the same PIN; nil when its answer is the last one.
    func next(after report: KeyReport, from description: KeyDescription) throws -> KeyRequest?

    /// What the key's answer means.
    func outcome(
        of report: KeyReport, secret: consuming SecretBytes, from description: KeyDescription,
        _ question: any CredentialQuestion
    ) throws -> Outcome
}

extension KeyTask {
    var choosesByTouch: Bool { false }
    var changesPIN: Bool { false }

    func next(after report: KeyReport, from description: KeyDescription) throws -> KeyRequest? { nil }
}

/// The person has chosen this key, and it needs its PIN.
struct KeyNeedsPIN: Error { let port: SecurityKeyPort }
