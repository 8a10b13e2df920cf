import AuthenticatorRequests
import SecretMemory
import SecurityKeyProtocol

/// What the person wants of whichever key they touch.
protocol KeyTask {
    associatedtype Outcome

    /// How a key is asked for it.
    func plan(for description: KeyDescription) -> KeyPlan

    /// What the key's answer means.
    func outcome(
        of report: KeyReport, secret: consuming SecretBytes, from description: KeyDescription,
        _ question: any CredentialQuestion
    ) throws -> Outcome
}
