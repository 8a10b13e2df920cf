package import ExactNames
import OstiaryMessages
package import Refusals
import Synchronization

/// Bounds the application passwords that programs leave in contexts: they lie in locked memory, of which the system gives a
/// plain user 8 MiB as a rule.
package final class CredentialQuota: Sendable {
    /// Each takes at most a cell of 1,024 bytes. So four programs can take an eighth of the locked memory together.
    package static let countOfProgram = 256
    package static let totalCount = 1024

    private let shares = Mutex(
        ProgramShares(countOfProgram: CredentialQuota.countOfProgram, totalCount: CredentialQuota.totalCount))

    package init() {}

    /// One password's place, given back with the last reference.
    package final class Place: Sendable {
        private let quota: CredentialQuota
        private let program: ProgramOfOwner

        fileprivate init(_ quota: CredentialQuota, _ program: ProgramOfOwner) {
            (self.quota, self.program) = (quota, program)
        }

        deinit { quota.giveBack(program) }
    }

    /// Counts one password of `program` in; refuses when there are as many as there may be.
    package func take(for program: ProgramOfOwner) throws(Refusal) -> Place {
        let isTaken = shares.withLock { shares in
            do throws(ProgramShares.Refused) { try shares.take(for: program) } catch { return false }
            return true
        }
        guard isTaken else {
            throw Refusal(
                .tooMany, "Programs hold too many passwords in contexts; release contexts that are not needed.",
                cause: "credential.too-many")
        }
        return Place(self, program)
    }

    private func giveBack(_ program: ProgramOfOwner) { shares.withLock { $0.giveBack(program) } }
}
