package import ExactNames

/// Counts how much each program holds of something that has one total for all programs. A program has a share of the
/// total, so it cannot shut out the others.
package struct ProgramShares: Sendable {
    package enum Refused: Error {
        /// The program holds its share.
        case program
        /// All programs together hold the total.
        case total
    }

    package let countOfProgram: Int
    package let totalCount: Int
    /// By the program's name in the log. A program that holds nothing has no entry.
    private var counts: [ExactName: Int] = [:]

    package init(countOfProgram: Int, totalCount: Int) {
        self.countOfProgram = countOfProgram
        self.totalCount = totalCount
    }

    /// Counts one more for `program`.
    package mutating func take(for program: ExactName) throws(Refused) {
        guard counts[program, default: 0] < countOfProgram else { throw .program }
        guard counts.values.reduce(0, +) < totalCount else { throw .total }
        counts[program, default: 0] += 1
    }

    /// Counts one less for `program`, which took it before.
    package mutating func giveBack(_ program: ExactName) {
        let count = counts[program, default: 0] - 1
        counts[program] = count > 0 ? count : nil
    }
}
