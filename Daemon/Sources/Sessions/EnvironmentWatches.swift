import Authenticators
import Callers
import ExactNames
import OstiaryMessages
import Owners
import Refusals
import Synchronization

/// A request that waits until its program's environment is another one than the program knows.
struct EnvironmentWatch: Sendable {
    let session: Session
    let requestID: UInt64
    let known: WireEnvironment

    fileprivate var program: ProgramOfOwner { session.caller.program.ofOwner }
}

/// The watches of all connections, at most one of each. A watch is an entry here and no thread.
final class EnvironmentWatches: Sendable {
    private struct State {
        var watches: [ObjectIdentifier: EnvironmentWatch] = [:]
        var shares: ProgramShares
    }

    private let state: Mutex<State>

    init(_ limits: ShareLimits) { state = Mutex(State(shares: ProgramShares(limits))) }

    /// - Throws: `tooMany` when the connection, its program, its owner's programs or all programs have as many as they may.
    func add(_ watch: EnvironmentWatch) throws(Refusal) {
        try state.withLock { (state) throws(Refusal) in
            guard state.watches[ObjectIdentifier(watch.session)] == nil else { throw Self.repeated }
            try state.shares.take(for: watch.program, refusing: Self.refusals)
            state.watches[ObjectIdentifier(watch.session)] = watch
        }
    }

    /// Takes the watch of `session` away. The caller must answer it. Nil when there is none, or it has another id than
    /// `requestID`.
    func take(of session: Session, requestID: UInt64? = nil) -> EnvironmentWatch? {
        state.withLock { state in
            guard let watch = state.watches[ObjectIdentifier(session)],
                requestID == nil || watch.requestID == requestID
            else { return nil }
            state.watches[ObjectIdentifier(session)] = nil
            state.shares.giveBack(watch.program)
            return watch
        }
    }

    func isWaiting(_ requestID: UInt64, in session: Session) -> Bool {
        state.withLock { $0.watches[ObjectIdentifier(session)]?.requestID == requestID }
    }

    /// Those of the programs of one user.
    func all(of account: OwnerAccount) -> [EnvironmentWatch] {
        state.withLock { state in state.watches.values.filter { $0.session.account === account } }
    }

    private static let repeated = Refusal(
        .tooMany, "The connection watches the environment already; a second watch needs a connection of its own.",
        cause: "environment.watched")

    private static let refusals = ShareRefusals(
        program: { limit in
            Refusal(
                .tooMany,
                "\(limit) processes of this program watch the environment already; end one, or ask without waiting.",
                cause: "environment.too-many-watches")
        },
        owner: { limit in
            Refusal(
                .tooMany,
                "\(limit) processes of this user watch the environment already; end one, or ask without waiting.",
                cause: "environment.too-many-watches-of-owner")
        },
        total: Refusal(
            .tooMany, "Too many processes watch the environment already; ask without waiting.",
            cause: "environment.too-many-watches-in-all"))
}
