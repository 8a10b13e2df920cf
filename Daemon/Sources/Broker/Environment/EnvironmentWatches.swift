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
}

/// The watches of all connections, at most one of each. A watch is an entry here and no thread.
final class EnvironmentWatches: Sendable {
    /// Watches of one program: it needs one for each of its processes.
    static let programLimit = 32
    /// Watches of all. Each has a connection for itself, and this is half of them: others must be able to connect.
    static let limit = 128

    private let programLimit: Int
    private let limit: Int
    private let watches = Mutex<[ObjectIdentifier: EnvironmentWatch]>([:])

    init(programLimit: Int = programLimit, limit: Int = limit) {
        (self.programLimit, self.limit) = (programLimit, limit)
    }

    /// - Throws: `tooMany` when the connection, its program or all programs have as many as they may.
    func add(_ watch: EnvironmentWatch) throws(Refusal) {
        let program = watch.session.caller.program.ofOwner
        let refusal: Refusal? = watches.withLock { watches in
            guard watches[ObjectIdentifier(watch.session)] == nil else { return Self.repeated }
            let ofProgram = watches.values.count { $0.session.caller.program.ofOwner == program }
            guard ofProgram < programLimit else { return Self.tooManyOfProgram(programLimit) }
            guard watches.count < limit else { return Self.tooMany }
            watches[ObjectIdentifier(watch.session)] = watch
            return nil
        }
        if let refusal { throw refusal }
    }

    /// Takes the watch of `session` away. The caller must answer it. Nil when there is none, or it has another id than
    /// `requestID`.
    func take(of session: Session, requestID: UInt64? = nil) -> EnvironmentWatch? {
        watches.withLock { watches in
            guard let watch = watches[ObjectIdentifier(session)],
                requestID == nil || watch.requestID == requestID
            else { return nil }
            watches[ObjectIdentifier(session)] = nil
            return watch
        }
    }

    func isWaiting(_ requestID: UInt64, in session: Session) -> Bool {
        watches.withLock { $0[ObjectIdentifier(session)]?.requestID == requestID }
    }

    /// Those of the programs of one user.
    func all(of account: OwnerAccount) -> [EnvironmentWatch] {
        watches.withLock { watches in watches.values.filter { $0.session.account === account } }
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

    /// It names no number: that would tell one owner about the programs of another.
    private static let tooMany = Refusal(
        .tooMany, "Too many processes watch the environment already; ask without waiting.",
        cause: "environment.too-many-watches-in-all")
}
