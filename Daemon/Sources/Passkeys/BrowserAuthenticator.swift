import AuthenticatorRequests
package import CTAP
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
        /// Ends the running command.
        var stop: (@Sendable () -> Void)?
        /// Counts how often everything was forgotten.
        var generation = 0
        /// What the last command left; also while another one runs.
        var live: [LiveAuthorization] = []

        mutating func forget() {
            engine = nil
            live = []
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

    private static let busy = Refusal(
        .outOfOrder, "Another command of this connection runs; wait for its answer, or cancel it.",
        cause: "browser.busy")

    /// Answers one command. Blocks while the owner is asked; the end of the question is a matter of `passkeys`.
    ///
    /// - Parameters:
    ///   - passkeys: of this request alone.
    ///   - stop: ends the command, from any thread: what was proved for it must not count any more.
    /// - Returns: a status byte, and CBOR.
    package func answer(
        _ command: [UInt8], with passkeys: OwnerPasskeys, endedBy stop: @escaping @Sendable () -> Void
    ) throws(Refusal) -> [UInt8] {
        var (engine, generation) = try begin(passkeys, stop)
        engine.use(passkeys, passkeys)
        let answer = engine.respond(to: command, until: CredentialStop())
        // The request's terminal, its question and what it proved end with it. The connection may stay for days.
        engine.rest()
        end(engine, generation)
        return answer
    }

    private func begin(
        _ passkeys: OwnerPasskeys, _ stop: @escaping @Sendable () -> Void
    ) throws(Refusal) -> (CTAPAuthenticator, Int) {
        let begun = state.withLock { state -> (CTAPAuthenticator, Int)? in
            guard !state.isRunning else { return nil }
            (state.isRunning, state.stop) = (true, stop)
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
        state.withLock { state in
            (state.isRunning, state.stop) = (false, nil)
            guard state.generation == generation else { return }
            (state.engine, state.live) = (engine, engine.liveAuthorizations)
        }
        Self.expiry.run(after: Self.expiryDelay) { [weak self] in
            self?.state.withLock { $0.engine?.dropExpired() }
        }
    }

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
        state.withLock { $0.stop }?()
    }
}
