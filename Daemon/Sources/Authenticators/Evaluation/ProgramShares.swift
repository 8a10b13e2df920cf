package import ExactNames

/// How much of something one program, the programs of one owner together, and all programs together may hold.
package struct ShareLimits: Equatable, Sendable {
    package let ofProgram: Int
    package let ofOwner: Int
    package let total: Int

    /// - Parameter ofOwner: nil for the total, where there is one owner.
    package init(ofProgram: Int, ofOwner: Int? = nil, total: Int) {
        self.ofProgram = ofProgram
        self.ofOwner = ofOwner ?? total
        self.total = total
    }
}

/// Counts how much each program holds of something that has one total for all programs. A program has a share of the
/// total, so it cannot shut out the others. The programs of one owner have a share together, so that many of them cannot
/// shut out another owner.
package struct ProgramShares: Sendable {
    package enum Refused: Error {
        /// The program holds its share.
        case program
        /// The owner's programs together hold their share.
        case owner
        /// All programs together hold the total.
        case total
    }

    package let limits: ShareLimits
    /// By the program's name in the log. A program that holds nothing has no entry.
    private var counts: [ProgramOfOwner: Int] = [:]

    package init(_ limits: ShareLimits) { self.limits = limits }

    /// Counts one more for `program`.
    package mutating func take(for program: ProgramOfOwner) throws(Refused) {
        guard counts[program, default: 0] < limits.ofProgram else { throw .program }
        // Before the total: an owner who holds their share learns nothing of the others' shares.
        guard limits.ofOwner >= limits.total || count(of: program.owner) < limits.ofOwner else { throw .owner }
        guard counts.values.reduce(0, +) < limits.total else { throw .total }
        counts[program, default: 0] += 1
    }

    /// Counts one less for `program`, which took it before.
    package mutating func giveBack(_ program: ProgramOfOwner) {
        let count = counts[program, default: 0] - 1
        counts[program] = count > 0 ? count : nil
    }

    private func count(of owner: OwnerID?) -> Int {
        counts.reduce(0) { $1.key.owner == owner ? $0 + $1.value : $0 }
    }
}
