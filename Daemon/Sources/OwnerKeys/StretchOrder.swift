import ExactNames
import Passcodes

/// How many typed secrets are stretched at once, and how many may wait.
package struct StretchLimits: Equatable, Sendable {
    /// Computations at once.
    package let runCount: Int
    /// Computations of one program that may wait. All programs together have at most as many
    /// as there may be slow requests, see `SessionLimits`.
    package let waitingCountOfProgram: Int

    package init(runCount: Int, waitingCountOfProgram: Int = 32) {
        self.runCount = runCount
        self.waitingCountOfProgram = waitingCountOfProgram
    }

    /// What a machine bears; one computation at least.
    ///
    /// One computation has one thread, and half of the processors are left to everything else. Together the computations take at
    /// most a quarter of the memory, even if each takes the most that a stored record may ask for: with 512 MiB each, a
    /// machine of 8 GiB bears four.
    package init(processorCount: Int, memoryByteCount: UInt64) {
        let largest = UInt64(StretchParameters.memoryBounds.upperBound) * 1024
        self.init(runCount: max(1, min(processorCount / 2, Int(memoryByteCount / 4 / largest))))
    }
}

/// Whose typed secret is stretched next. Pure.
///
/// The program whose turn lies back the longest is next, and one that had none comes before all that had one. So a program
/// waits for the end of one computation, and then for one of each program that waited already, however many each has.
struct StretchOrder {
    /// Names one computation in this order.
    struct Ticket: Hashable { fileprivate let number: UInt64 }

    /// What a computation that comes in is told.
    enum Entry: Equatable {
        case turn(Ticket)
        case waits(Ticket)
        case refused
    }

    private struct Line {
        let program: ExactName
        /// Oldest first.
        var waiting: [Ticket] = []
        var hadTurn = false
    }

    let limits: StretchLimits
    /// Programs in the order of their turns. A program without a waiting computation stays until its turn would have come:
    /// otherwise it would count as a new one with each request.
    private var lines: [Line] = []
    private var running: Set<Ticket> = []
    private var lastNumber: UInt64 = 0

    init(_ limits: StretchLimits) { self.limits = limits }

    var runningCount: Int { running.count }
    var waitingCount: Int { lines.reduce(0) { $0 + $1.waiting.count } }

    /// A computation of `program` comes in.
    mutating func enter(_ program: ExactName) -> Entry {
        let index = lineIndex(of: program)
        // Nobody waits while there is room: a computation that ends gives its place to the next one.
        if running.count < limits.runCount {
            let ticket = makeTicket()
            give(ticket, toLineAt: index)
            return .turn(ticket)
        }
        guard lines[index].waiting.count < limits.waitingCountOfProgram else { return .refused }
        let ticket = makeTicket()
        lines[index].waiting.append(ticket)
        return .waits(ticket)
    }

    /// A computation leaves that waits; false when it does not wait, because it got its turn meanwhile.
    mutating func withdraw(_ ticket: Ticket) -> Bool {
        guard let index = lines.firstIndex(where: { $0.waiting.contains(ticket) }) else { return false }
        lines[index].waiting.removeAll { $0 == ticket }
        if lines[index].waiting.isEmpty, !lines[index].hadTurn { lines.remove(at: index) }
        return true
    }

    /// A computation that had its turn has ended. Returns the one whose turn it is now.
    mutating func leave(_ ticket: Ticket) -> Ticket? {
        guard running.remove(ticket) != nil else { return nil }
        while !lines.isEmpty {
            guard let next = lines[0].waiting.first else {
                lines.removeFirst()
                continue
            }
            lines[0].waiting.removeFirst()
            give(next, toLineAt: 0)
            return next
        }
        return nil
    }

    private func firstServedIndex() -> Int { lines.firstIndex(where: \.hadTurn) ?? lines.endIndex }

    private mutating func lineIndex(of program: ExactName) -> Int {
        if let index = lines.firstIndex(where: { $0.program == program }) { return index }
        let index = firstServedIndex()
        lines.insert(Line(program: program), at: index)
        return index
    }

    private mutating func give(_ ticket: Ticket, toLineAt index: Int) {
        running.insert(ticket)
        var line = lines.remove(at: index)
        line.hadTurn = true
        lines.append(line)
    }

    private mutating func makeTicket() -> Ticket {
        lastNumber += 1
        return Ticket(number: lastNumber)
    }
}
