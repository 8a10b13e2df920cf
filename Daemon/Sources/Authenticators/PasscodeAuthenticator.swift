package import AccessControl
package import Auditing
import KeySlots
package import OwnerKeys
import PromptProtocol
package import Refusals
import SecretMemory

/// Proves the passcode. A proof opens the store: what it opens goes into the key ring.
package struct PasscodeAuthenticator: Authenticator {
    let keeper: any PasscodeKeeper
    let life: PasscodeLife
    package let ring: KeyRing
    package let trail: AuditTrail
    /// Told about each entry; nil where there is no biometry.
    let biometry: Biometry?
    /// Told about each entry.
    let login: LoginBinding
    /// The label of each proof.
    package let strength: Strength

    package init(
        keeper: any PasscodeKeeper, life: PasscodeLife, ring: KeyRing, trail: AuditTrail, biometry: Biometry?,
        login: LoginBinding, strength: Strength
    ) {
        self.keeper = keeper
        self.life = life
        self.ring = ring
        self.trail = trail
        self.biometry = biometry
        self.login = login
        self.strength = strength
    }

    package var factors: FactorSet { .passcode }

    package func availability(of factor: Factor, for demand: Demand?) throws -> FactorAvailability.State {
        guard ring.isPasscodeSet else { return .unavailable(.passcodeNotSet) }
        return try keeper.attempts().remaining > .zero ? .unavailable(.passcodeLockedOut) : .available
    }

    package func strength(of factor: Factor) -> Strength { strength }

    package func requireCheckable(_ factor: Factor) throws { try keeper.requireRecords() }

    package func refusal(of factor: Factor, because reason: Unavailability) throws -> Refusal {
        guard reason == .passcodeLockedOut else { return Refusal.unavailable(factor, because: reason) }
        return Refusal.lockedOut(try keeper.attempts().remaining)
    }

    package func begin(_ factor: Factor, for demand: Demand, _ asking: Asking, after proofs: [Proof]) -> FactorAttempt {
        // A lock that comes while the person types ends what is asked; what was typed must not unlock after it.
        .typing(Attempt(authenticator: self, era: ring.era, request: asking.cancellation, requester: asking.requester))
    }

    private struct Attempt: TypingAttempt {
        let authenticator: PasscodeAuthenticator
        let era: UInt64
        let request: RequestCancellation
        let requester: StretchRequester

        var kind: PromptKind { .enterPasscode }
        var wrongNotice: DisplayText { DisplayText("Wrong passcode.") }
        /// The passcode is what other factors fall back to, so nothing is offered instead of it.
        var offersFallback: Bool { false }

        func outlook() throws -> MissOutlook? { try authenticator.keeper.attempts().outlook }

        func requireNoDelay() throws { try authenticator.keeper.requireNoDelay() }

        func requireReady() throws {
            try requireNoDelay()
            authenticator.keeper.personIsAsked()
        }

        func prove(_ entered: borrowing SecretBytes) throws -> Proof {
            let entered = SecretBytes(copying: entered)
            let proved = try authenticator.opened(by: entered, since: era, for: request, as: requester)
            return Proof(
                factor: .passcode, strength: authenticator.strength, half: proved.half, session: proved.key.session,
                detail: proved)
        }
    }

    private func opened(
        by passcode: borrowing SecretBytes, since era: UInt64, for request: RequestCancellation,
        as requester: StretchRequester
    ) throws -> ProvedPasscode {
        let passcode = SecretBytes(copying: passcode)
        return try keeper.exclusively.withStretchTurnAndAccess(as: requester) { held in
            let proved = try keeper.prove(passcode, holding: held)
            let halves = try life.privateHalves(openedBy: proved)
            request.noteOpening()
            ring.add(halves, since: era)
            trail.coverSeeds(under: proved.half)
            biometry?.passcodeWasEntered()
            // Where that cannot be stored, no login tries its password; nothing else depends on it.
            try? login.passcodeWasEntered()
            return proved
        }
    }
}
