package import Authenticators
package import ExactNames
import OstiaryMessages
package import Refusals
import Synchronization

/// Bounds what contexts remember of grants: opened rights and keys, requirements, objects under leases, the counts of uses, and
/// grants that the owner revoked. All of it stays for as long as the program keeps the context, and a program may have many
/// contexts.
package final class GrantQuota: Sendable {
    private let shares: Mutex<ProgramShares>

    package init(_ limits: ShareLimits) { shares = Mutex(ProgramShares(limits)) }

    /// The place of one object or requirement in one context, given back with the last reference.
    package final class Place: Sendable {
        private let quota: GrantQuota
        private let program: ProgramOfOwner

        fileprivate init(_ quota: GrantQuota, _ program: ProgramOfOwner) {
            (self.quota, self.program) = (quota, program)
        }

        deinit { quota.giveBack(program) }
    }

    /// Counts one place of `program` in; refuses when the program, its owner's programs or all programs hold as many as they
    /// may.
    package func take(for program: ProgramOfOwner) throws(Refusal) -> Place {
        try shares.withLock { (shares) throws(Refusal) in try shares.take(for: program, refusing: Self.refusals) }
        return Place(self, program)
    }

    private static let refusals = ShareRefusals(
        program: { count in
            Refusal(
                .tooMany,
                "This program holds \(count) authorizations already, and no more are allowed; release contexts that it does "
                    + "not need.", cause: "grant.too-many")
        },
        owner: { count in
            Refusal(
                .tooMany,
                "This user's programs hold \(count) authorizations already, and no more are allowed; release contexts that "
                    + "are not needed.", cause: "grant.too-many-of-owner")
        },
        total: Refusal(
            .tooMany, "All programs together hold too many authorizations; try again later.",
            cause: "grant.too-many-in-all"))

    private func giveBack(_ program: ProgramOfOwner) { shares.withLock { $0.giveBack(program) } }
}
