package import ExactNames

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

    package let countOfProgram: Int
    package let countOfOwner: Int
    package let totalCount: Int
    /// By the program's name in the log. A program that holds nothing has no entry.
    private var counts: [ProgramOfOwner: Int] = [:]

    /// - Parameter countOfOwner: the share of one owner's programs together; nil for the total.
    package init(countOfProgram: Int, countOfOwner: Int? = nil, totalCount: Int) {
        self.countOfProgram = countOfProgram
        self.countOfOwner = countOfOwner ?? totalCount
        self.totalCount = totalCount
    }

    /// Counts one more for `program`.
    package mutating func take(for program: ProgramOfOwner) throws(Refused) {
        guard counts[program, default: 0] < countOfProgram else { throw .program }
        guard counts.values.reduce(0, +) < totalCount else { throw .total }
        guard count(of: program.owner) < countOfOwner else { throw .owner }
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
