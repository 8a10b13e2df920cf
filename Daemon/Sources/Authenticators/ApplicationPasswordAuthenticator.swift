package import AccessControl
import KeySlots
import OstiaryMessages
package import OwnerKeys
import PromptProtocol
import Refusals
import SecretMemory

/// Proves an object's application password by opening the object with it.
package struct ApplicationPasswordAuthenticator: Authenticator {
    let counters: AttemptCounters
    /// The label of each proof.
    package let strength: Strength

    package init(counters: AttemptCounters, strength: Strength) {
        self.counters = counters
        self.strength = strength
    }

    package var factors: FactorSet { .applicationPassword }

    package func availability(of factor: Factor, for demand: Demand?) -> FactorAvailability.State {
        guard let demand else { return .available }
        return demand.applicationPassword == nil ? .unavailable(.applicationPasswordUnsupported) : .available
    }

    package func strength(of factor: Factor) -> Strength { strength }

    package func begin(
        _ factor: Factor, for demand: Demand, _ asking: Asking, after proofs: [Proof]
    ) throws -> FactorAttempt {
        guard let check = demand.applicationPassword else {
            throw Refusal(.internal, "The object has no application password.")
        }
        let attempt = Attempt(
            counters: counters, check: check, keys: ProvedKeys(of: proofs), requester: asking.requester,
            proof: Proof(factor: .applicationPassword, strength: strength))
        guard let given = asking.applicationPassword else { return .typing(attempt) }
        do { return .proved(try attempt.prove(given.bytes)) } catch is WrongSecret {
            throw Refusal.authenticationFailed
        }
    }

    private struct Attempt: TypingAttempt {
        let counters: AttemptCounters
        let check: ApplicationPasswordCheck
        /// The keys of the slot's other layers, as far as they are not in the key ring.
        let keys: ProvedKeys
        let requester: StretchRequester
        let proof: Proof

        var kind: PromptKind { .applicationPassword }
        var wrongNotice: DisplayText { DisplayText("Wrong password.") }
        var offersFallback: Bool { true }

        func outlook() throws -> MissOutlook? { try counters.attempts(at: check.subject).outlook }

        func requireNoDelay() throws { try counters.requireNoDelay(at: check.subject) }

        func prove(_ entered: borrowing SecretBytes) throws -> Proof {
            let password = SecretBytes(copying: entered)
            try counters.attempt(at: check.subject, as: requester) { turn in
                try check.opens(password, keys, turn) ? () : nil
            }
            return proof
        }
    }
}
