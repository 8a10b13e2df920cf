package import ExactNames
import OstiaryMessages
package import Refusals
import Synchronization

/// Bounds what programs may hold of one thing, such as passwords in contexts: so many a program, an owner, and in all.
package final class ProgramQuota: Sendable {
    private let shares: Mutex<ProgramShares>
    private let refusals: ShareRefusals

    package init(_ limits: ShareLimits, refusing refusals: ShareRefusals) {
        shares = Mutex(ProgramShares(limits))
        self.refusals = refusals
    }

    /// The place of one thing that a program holds, given back with the last reference.
    package final class Place: Sendable {
        private let quota: ProgramQuota
        private let program: ProgramOfOwner

        fileprivate init(_ quota: ProgramQuota, _ program: ProgramOfOwner) {
            (self.quota, self.program) = (quota, program)
        }

        deinit { quota.giveBack(program) }
    }

    /// Counts one of `program` in; refuses when the program, its owner's programs or all programs hold as many as they may.
    package func take(for program: ProgramOfOwner) throws(Refusal) -> Place {
        try shares.withLock { (shares) throws(Refusal) in try shares.take(for: program, refusing: refusals) }
        return Place(self, program)
    }

    private func giveBack(_ program: ProgramOfOwner) { shares.withLock { $0.giveBack(program) } }
}

extension ProgramQuota {
    /// Bounds the application passwords that programs leave in contexts: they lie in locked memory, of which the system gives a
    /// plain user 8 MiB as a rule.
    package static func credentials(_ limits: ShareLimits) -> ProgramQuota {
        let tooMany = Refusal(
            .tooMany, "Programs hold too many passwords in contexts; release contexts that are not needed.",
            cause: "credential.too-many")
        let tooManyOfOwner = Refusal(
            .tooMany, "This user's programs hold too many passwords in contexts; release contexts that are not needed.",
            cause: "credential.too-many-of-owner")
        return ProgramQuota(
            limits,
            refusing: ShareRefusals(program: { _ in tooMany }, owner: { _ in tooManyOfOwner }, total: tooMany))
    }
}
