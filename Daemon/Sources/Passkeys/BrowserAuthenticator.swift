import AuthenticatorRequests
package import CTAP
import Cancellations
import OstiaryMessages
package import Refusals
import Synchronization
import Threading

/// This machine as an authenticator for one connection of a browser: one command after the other, with what a command leaves for the
/// next ones, such as a token or the other accounts of a relying party.
package final class BrowserAuthenticator: Sendable {
    private struct State {
        /// nil before the first command, and while one runs.
        var engine: CTAPAuthenticator?
        var isRunning = false
        /// Ends the running command; nil while none runs.
        var cancellation: RequestCancellation?
        /// Counts how often everything was forgotten.
        var generation = 0
        /// What the last command left; also while another one runs.
        var live: [LiveAuthorization] = []
        /// The proof of an unused token. A command that runs meanwhile may wait for a person for longer than the proof counts.
        var proof: HeldProof?
        /// Whether the common thread will drop expired tokens and lists.
        var isExpiryPending = false

        mutating func forget() {
            engine = nil
            live = []
            proof = nil
            generation += 1
        }
    }

    private let state = Mutex(State())
    /// For all connections; it starts with the first command.
    private static let expiry = WorkThread(name: "ostiary-ctap")

    package init() {}

    /// Clients reach it as a device that could be unplugged: those that look for one at USB pass over an authenticator that says it is
    /// part of a platform. Its passkeys are those of the machine, so both transports lead to them.
    private static let model: AuthenticatorModel = {
        var model = PlatformAuthenticator.model
        model.isPlatform = false
        model.transports = ["internal", "usb"]
        return model
    }()

    /// After this time a list is over, and so is a token that was not used: 30 seconds, and a moment. A token for the management of
    /// passkeys that was used counts for ten minutes; it is wiped with the first command after that. Of the proof it has nothing.
    private static let expiryDelay = Duration.seconds(31)

    /// After that, tokens and lists that came later are looked at this often.
    private static let expiryInterval = Duration.seconds(1)

    private static let busy = Refusal(
        .outOfOrder, "Another command of this connection runs; wait for its answer, or cancel it.",
        cause: "browser.busy")

    /// Answers one command. Blocks while the owner is asked; the end of the question is a matter of `passkeys`.
    ///
    /// - Parameters:
    ///   - passkeys: of this request alone.
    ///   - cancellation: ends the command, from any thread: proofs for it must not count any more.
    /// - Returns: a status byte, and CBOR.
    package func answer(
        _ command: [UInt8], with passkeys: OwnerPasskeys, endedBy cancellation: RequestCancellation
    ) throws(Refusal) -> [UInt8] {
        var (engine, generation) = try begin(passkeys, cancellation)
        engine.use(passkeys, passkeys)
        let answer = engine.respond(to: command, until: Cancellation())
        // The request's terminal, its question and what it proved end with it. The connection may stay for days.
        engine.rest()
        end(engine, generation)
        return answer
    }

    private func begin(
        _ passkeys: OwnerPasskeys, _ cancellation: RequestCancellation
    ) throws(Refusal) -> (CTAPAuthenticator, Int) {
        let begun = state.withLock { state -> (CTAPAuthenticator, Int)? in
            guard !state.isRunning else { return nil }
            (state.isRunning, state.cancellation) = (true, cancellation)
            let engine =
                state.engine.take()
                ?? CTAPAuthenticator(
                    Self.model, storage: passkeys, pins: nil, interaction: passkeys, clock: passkeys.clock)
            return (engine, state.generation)
        }
        guard let begun else { throw Self.busy }
        return begun
    }

    private func end(_ engine: CTAPAuthenticator, _ generation: Int) {
        var engine = engine
        engine.dropExpired()
        let isFirst = state.withLock { state in
            (state.isRunning, state.cancellation) = (false, nil)
            guard state.generation == generation else { return false }
            (state.engine, state.live, state.proof) = (engine, engine.liveAuthorizations, engine.heldProof)
            guard engine.holdsExpiring, !state.isExpiryPending else { return false }
            state.isExpiryPending = true
            return true
        }
        if isFirst { expire(after: Self.expiryDelay, engine.clock) }
    }

    /// Drops expired tokens and lists, again and again until none is left. A connection has one such piece of work at a time,
    /// however many commands it gave.
    private func expire(after delay: Duration, _ clock: @escaping @Sendable () -> Duration) {
        Self.expiry.run(after: delay) { [weak self] in
            guard let self, dropExpired(at: clock()) else { return }
            expire(after: Self.expiryInterval, clock)
        }
    }

    /// Drops expired tokens and lists, also while a command runs. Returns whether another one will expire soon.
    func dropExpired(at now: Duration) -> Bool {
        state.withLock { state in
            state.engine?.dropExpired()
            if state.proof?.dropIfExpired(at: now) == true { state.proof = nil }
            state.isExpiryPending = state.engine?.holdsExpiring ?? (state.isRunning && state.proof != nil)
            return state.isExpiryPending
        }
    }

    var isExpiryPending: Bool { state.withLock(\.isExpiryPending) }

    /// The proof of an unused token.
    var heldProof: HeldProof? { state.withLock(\.proof) }

    /// Whether a command runs.
    package var isRunning: Bool { state.withLock(\.isRunning) }

    /// What the program may do without another question.
    package func liveAuthorizations(at now: Duration) -> [LiveAuthorization] {
        state.withLock { $0.live.filter { now < $0.end } }
    }

    /// Nothing that was proved before counts for a later command: everything was locked, the program's rights have changed, or the
    /// passcode or the enrolled fingers did.
    package func forget() { state.withLock { $0.forget() } }

    /// As ``forget()``, and ends the running command: the owner has revoked what it stands on.
    package func revoke() {
        forget()
        state.withLock { $0.cancellation }?.cancel(.locked)
    }
}
