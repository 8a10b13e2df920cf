import AuthenticatorRequests
import SecretMemory
import SecurityKeyProtocol

/// Gives a key its first PIN, or replaces its PIN.
struct PINTask: KeyTask {
    var changesPIN: Bool { true }

    func plan(for description: KeyDescription) -> KeyPlan {
        guard description.isFIDO2, description.features.contains(.supportsPIN) else {
            return .refuse(.unsupported(what: "PIN"))
        }
        // The description that follows shows that the key took it.
        return description.features.contains(.hasPIN) ? .askWithPIN(.describe) : .askWithNewPIN(.describe)
    }

    func outcome(
        of report: KeyReport, secret: consuming SecretBytes, from description: KeyDescription,
        _ question: any CredentialQuestion
    ) throws {
        guard case .description(let described) = report, described.features.contains(.hasPIN) else {
            throw CredentialRefusal.malformedAnswer
        }
    }
}
