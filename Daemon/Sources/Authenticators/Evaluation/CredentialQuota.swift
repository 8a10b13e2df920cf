package import ExactNames
import OstiaryMessages
package import Refusals
import Synchronization

/// Bounds the application passwords that programs leave in contexts: they lie in locked memory, of which the system gives a
/// plain user 8 MiB as a rule.
package final class CredentialQuota: Sendable {
    private let shares: Mutex<ProgramShares>

    package init(_ limits: ShareLimits) { shares = Mutex(ProgramShares(limits)) }

    /// One password's place, given back with the last reference.
    package final class Place: Sendable {
        private let quota: CredentialQuota
        private let program: ProgramOfOwner

        fileprivate init(_ quota: CredentialQuota, _ program: ProgramOfOwner) {
            (self.quota, self.program) = (quota, program)
        }

        deinit { quota.giveBack(program) }
    }

    /// Counts one password of `program` in; refuses when the program, its owner's programs or all programs hold as many as
    /// they may.
    package func take(for program: ProgramOfOwner) throws(Refusal) -> Place {
        try shares.withLock { (shares) throws(Refusal) in try shares.take(for: program, refusing: Self.refusals) }
        return Place(self, program)
    }

    private static let refusals = ShareRefusals(
        program: { _ in tooMany }, owner: { _ in tooManyOfOwner }, total: tooMany)

    private static let tooManyOfOwner = Refusal(
        .tooMany, "This user's programs hold too many passwords in contexts; release contexts that are not needed.",
        cause: "credential.too-many-of-owner")

    private static let tooMany = Refusal(
        .tooMany, "Programs hold too many passwords in contexts; release contexts that are not needed.",
        cause: "credential.too-many")

    private func giveBack(_ program: ProgramOfOwner) { shares.withLock { $0.giveBack(program) } }
}
