import Authenticators
import ExactNames
import OstiaryMessages
import Refusals
import Synchronization

/// Bounds the slow requests of all connections together, and with them the descriptors that callers make the daemon hold.
/// A program has a share of them, and so have the programs of one owner together, so that others can still ask.
package final class SlowRequestQuota: Sendable {
    private let shares: Mutex<ProgramShares>

    init(_ limits: ShareLimits) { shares = Mutex(ProgramShares(limits)) }

    /// Counts one request of `program` in; refuses when the program, its owner's programs or all programs have as many as
    /// they may.
    func take(for program: ProgramOfOwner) throws(Refusal) {
        try shares.withLock { (shares) throws(Refusal) in try shares.take(for: program, refusing: Self.refusals) }
    }

    func giveBack(_ program: ProgramOfOwner) { shares.withLock { $0.giveBack(program) } }

    /// The cause where a program has its share.
    static let shareIsFull = "request.too-many-of-program"

    private static let refusals = ShareRefusals(
        program: { count in
            Refusal(
                .tooMany, "\(count) requests of this program wait already; try again when one has ended.",
                cause: SlowRequestQuota.shareIsFull)
        },
        owner: { count in
            Refusal(
                .tooMany, "\(count) requests of this user's programs wait already; try again when one has ended.",
                cause: "request.too-many-of-owner")
        },
        total: Refusal(
            .tooMany, "Too many requests of all programs wait already; try again.", cause: "request.too-many-in-all"))
}
