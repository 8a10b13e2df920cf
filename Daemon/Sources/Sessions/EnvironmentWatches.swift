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
        let refusal: Refusal? = state.withLock { state in
            guard state.watches[ObjectIdentifier(watch.session)] == nil else { return Self.repeated }
            do throws(ProgramShares.Refused) { try state.shares.take(for: watch.program) } catch {
                return switch error {
                case .program: Self.tooManyOfProgram(state.shares.limits.ofProgram)
                case .owner: Self.tooManyOfOwner(state.shares.limits.ofOwner)
                case .total: Self.tooMany
                }
            }
            state.watches[ObjectIdentifier(watch.session)] = watch
            return nil
        }
        if let refusal { throw refusal }
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

    private static func tooManyOfProgram(_ limit: Int) -> Refusal {
        Refusal(
            .tooMany,
            "\(limit) processes of this program watch the environment already; end one, or ask without waiting.",
            cause: "environment.too-many-watches")
    }

    private static func tooManyOfOwner(_ limit: Int) -> Refusal {
        Refusal(
            .tooMany,
            "\(limit) processes of this user watch the environment already; end one, or ask without waiting.",
            cause: "environment.too-many-watches-of-owner")
    }

    /// It names no number: that would tell one owner about the programs of another.
    private static let tooMany = Refusal(
        .tooMany, "Too many processes watch the environment already; ask without waiting.",
        cause: "environment.too-many-watches-in-all")
}
