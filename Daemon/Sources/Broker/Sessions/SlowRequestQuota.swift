import Authenticators
import ExactNames
import OstiaryMessages
import Refusals
import Synchronization

/// Bounds the slow requests of all connections together, and with them the descriptors that callers make the daemon hold.
/// A program has a share of them, so that others can still ask.
final class SlowRequestQuota: Sendable {
    private let shares: Mutex<ProgramShares>

    init(ofProgram: Int = SessionLimits.slowRequestCountOfProgram, total: Int = SessionLimits.slowRequestTotal) {
        shares = Mutex(ProgramShares(countOfProgram: ofProgram, totalCount: total))
    }

    /// Counts one request of `program` in; refuses when the program or all programs have as many as they may.
    func take(for program: ExactName) throws(Refusal) {
        let refusal: Refusal? = shares.withLock { shares in
            do throws(ProgramShares.Refused) { try shares.take(for: program) } catch {
                return switch error {
                case .program: Self.tooManyOfProgram(shares.countOfProgram)
                case .total: Self.tooMany(shares.totalCount)
                }
            }
            return nil
        }
        if let refusal { throw refusal }
    }

    func giveBack(_ program: ExactName) { shares.withLock { $0.giveBack(program) } }

    private static func tooManyOfProgram(_ count: Int) -> Refusal {
        Refusal(
            .tooMany, "\(count) requests of this program wait already; try again when one has ended.",
            cause: "request.too-many-of-program")
    }

    private static func tooMany(_ count: Int) -> Refusal {
        Refusal(
            .tooMany, "\(count) requests of all programs wait already; try again.", cause: "request.too-many-in-all")
    }
}
