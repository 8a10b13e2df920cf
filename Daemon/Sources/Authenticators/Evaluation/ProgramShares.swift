package import ExactNames
package import Refusals

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

/// What a program is told when it gets no more of something.
package struct ShareRefusals: Sendable {
    /// The program holds its share of so many.
    fileprivate let program: @Sendable (Int) -> Refusal
    /// The owner's programs together hold their share of so many.
    fileprivate let owner: @Sendable (Int) -> Refusal
    /// All programs together hold the total. It names no number: that would tell one owner about the programs of another.
    fileprivate let total: Refusal

    package init(
        program: @escaping @Sendable (Int) -> Refusal, owner: @escaping @Sendable (Int) -> Refusal, total: Refusal
    ) {
        (self.program, self.owner, self.total) = (program, owner, total)
    }
}

/// Counts how much each program holds of something that has one total for all programs. A program has a share of the
/// total, so it cannot shut out the others. The programs of one owner have a share together, so that many of them cannot
/// shut out another owner.
package struct ProgramShares: Sendable {
    private let limits: ShareLimits
    /// By the program's name in the log. A program that holds nothing has no entry.
    private var counts: [ProgramOfOwner: Int] = [:]

    package init(_ limits: ShareLimits) { self.limits = limits }

    /// Counts one more for `program`; refuses when the program, its owner's programs or all programs hold as many as they may.
    package mutating func take(
        for program: ProgramOfOwner, refusing refusals: ShareRefusals
    ) throws(Refusal) {
        guard counts[program, default: 0] < limits.ofProgram else { throw refusals.program(limits.ofProgram) }
        // Before the total: an owner who holds their share learns nothing of the others' shares.
        guard limits.ofOwner >= limits.total || count(of: program.owner) < limits.ofOwner else {
            throw refusals.owner(limits.ofOwner)
        }
        guard counts.values.reduce(0, +) < limits.total else { throw refusals.total }
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
