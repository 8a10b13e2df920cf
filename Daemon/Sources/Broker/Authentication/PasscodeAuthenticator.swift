import AccessControl
import KeySlots
import Prompting
import SecretMemory

/// Proves the passcode. A proof opens the store: what it opens goes into the key ring.
struct PasscodeAuthenticator: Authenticator {
    let keeper: any PasscodeKeeper
    let life: PasscodeLife
    let ring: KeyRing
    let trail: AuditTrail
    /// The label of each proof.
    let strength: Strength

    var factors: FactorSet { .passcode }

    func availability(of factor: Factor, for demand: Demand?) throws -> FactorAvailability.State {
        guard ring.isPasscodeSet else { return .unavailable(.passcodeNotSet) }
        return try keeper.attempts().remaining > .zero ? .unavailable(.passcodeLockedOut) : .available
    }

    func strength(of factor: Factor) -> Strength { strength }

    func requireCheckable(_ factor: Factor) throws { try keeper.requireRecords() }

    func refusal(of factor: Factor, because reason: Unavailability) throws -> Refusal {
        guard reason == .passcodeLockedOut else { return Refusals.unavailable(factor, because: reason) }
        return Refusals.lockedOut(try keeper.attempts().remaining)
    }

    func begin(_ factor: Factor, for demand: Demand, _ asking: Asking, after proofs: [Proof]) -> FactorAttempt {
        // A lock that comes while the person types ends what is asked; what was typed must not unlock after it.
        .typing(Attempt(authenticator: self, era: ring.era))
    }

    private struct Attempt: TypingAttempt {
        let authenticator: PasscodeAuthenticator
        let era: UInt64

        var kind: PromptKind { .enterPasscode }
        var wrongNotice: DisplayText { DisplayText("Wrong passcode.") }
        /// The passcode is what other factors fall back to, so nothing is offered instead of it.
        var offersFallback: Bool { false }

        func requireReady() throws { try authenticator.keeper.requireNoDelay() }

        func prove(_ entered: borrowing SecretBytes) throws -> Proof {
            let entered = SecretBytes(copying: entered)
            let proved = try authenticator.opened(by: entered, since: era)
            return Proof(
                factor: .passcode, strength: authenticator.strength, half: proved.half, session: proved.key.session,
                detail: proved)
        }
    }

    private func opened(by passcode: borrowing SecretBytes, since era: UInt64) throws -> ProvedPasscode {
        let passcode = SecretBytes(copying: passcode)
        return try keeper.exclusively {
            let proved = try keeper.prove(passcode)
            ring.add(try life.privateHalves(openedBy: proved), since: era)
            trail.coverSeeds(under: proved.half)
            return proved
        }
    }
}
