import ExactNames
import Passcodes

/// How many typed secrets are stretched at once, and how many may wait.
package struct StretchLimits: Equatable, Sendable {
    /// Computations at once.
    package let runCount: Int
    /// Computations of one program that may wait.
    package let waitingCountOfProgram: Int
    /// Computations of all programs of one owner that may wait. All owners together have no limit: an owner waits for one turn of
    /// each other owner, however many wait there.
    package let waitingCountOfOwner: Int

    /// - Parameter waitingCountOfOwner: at least the slow requests and readings that one owner may have, see `SessionLimits`.
    package init(runCount: Int, waitingCountOfProgram: Int = 32, waitingCountOfOwner: Int = 192) {
        self.runCount = runCount
        self.waitingCountOfProgram = waitingCountOfProgram
        self.waitingCountOfOwner = waitingCountOfOwner
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
/// The owner whose turn lies back the longest is next, and one who had none comes before all who had one. The same holds for the
/// programs of that owner. So an owner waits for the end of one computation, and then for one of each owner who waited already,
/// however many programs and computations each has. A program waits for one turn of each program of its owner that waited
/// already.
struct StretchOrder {
    /// Names one computation in this order.
    struct Ticket: Hashable { fileprivate let number: UInt64 }

    /// What a computation that comes in is told.
    enum Entry: Equatable {
        case turn(Ticket)
        case waits(Ticket)
        case refused(Refused)
    }

    /// The share of waiting computations that is used up.
    enum Refused { case program, owner }

    let limits: StretchLimits
    /// Owners in the order of their turns. An owner without a waiting computation stays until the turn would have come:
    /// otherwise each request would count as a new owner's.
    private var owners: [OwnerLines] = []
    private var running: Set<Ticket> = []
    private var lastNumber: UInt64 = 0

    init(_ limits: StretchLimits) { self.limits = limits }

    var runningCount: Int { running.count }
    var waitingCount: Int { owners.reduce(0) { $0 + $1.waitingCount } }

    /// A computation of `program` comes in.
    mutating func enter(_ program: ProgramOfOwner) -> Entry {
        let index = ownerIndex(of: program.owner)
        // Nobody waits while there is room: a computation that ends gives its place to the next one.
        if running.count < limits.runCount {
            let ticket = makeTicket()
            running.insert(ticket)
            var owner = owners.remove(at: index)
            owner.noteTurn(of: program.program)
            owners.append(owner)
            return .turn(ticket)
        }
        let owner = owners[index]
        guard owner.waitingCount(of: program.program) < limits.waitingCountOfProgram else { return .refused(.program) }
        guard owner.waitingCount < limits.waitingCountOfOwner else { return .refused(.owner) }
        let ticket = makeTicket()
        owners[index].enqueue(ticket, of: program.program)
        return .waits(ticket)
    }

    /// A computation leaves that waits; false when it does not wait, because it got its turn meanwhile.
    mutating func withdraw(_ ticket: Ticket) -> Bool {
        guard let index = owners.firstIndex(where: { $0.isWaiting(ticket) }) else { return false }
        owners[index].withdraw(ticket)
        if owners[index].isEmpty { owners.remove(at: index) }
        return true
    }

    /// A computation that had its turn has ended. Returns the one whose turn it is now.
    mutating func leave(_ ticket: Ticket) -> Ticket? {
        guard running.remove(ticket) != nil else { return nil }
        while !owners.isEmpty {
            var owner = owners.removeFirst()
            guard let next = owner.takeNext() else { continue }
            owners.append(owner)
            running.insert(next)
            return next
        }
        return nil
    }

    private mutating func ownerIndex(of owner: OwnerID?) -> Int {
        if let index = owners.firstIndex(where: { $0.owner == owner }) { return index }
        let index = owners.firstIndex(where: \.hadTurn) ?? owners.endIndex
        owners.insert(OwnerLines(owner), at: index)
        return index
    }

    private mutating func makeTicket() -> Ticket {
        lastNumber += 1
        return Ticket(number: lastNumber)
    }
}

/// The waiting computations of one owner's programs.
private struct OwnerLines {
    private struct Line {
        let program: ExactName
        /// Oldest first.
        var waiting: [StretchOrder.Ticket] = []
        var hadTurn = false
    }

    let owner: OwnerID?
    /// Programs in the order of their turns. A program without a waiting computation stays until its turn would have come:
    /// otherwise it would count as a new one with each request.
    private var lines: [Line] = []

    init(_ owner: OwnerID?) { self.owner = owner }

    var isEmpty: Bool { lines.isEmpty }
    var hadTurn: Bool { lines.contains(where: \.hadTurn) }
    var waitingCount: Int { lines.reduce(0) { $0 + $1.waiting.count } }

    func waitingCount(of program: ExactName) -> Int {
        lines.first { $0.program == program }?.waiting.count ?? 0
    }

    func isWaiting(_ ticket: StretchOrder.Ticket) -> Bool { lines.contains { $0.waiting.contains(ticket) } }

    mutating func enqueue(_ ticket: StretchOrder.Ticket, of program: ExactName) {
        let index = lineIndex(of: program)
        lines[index].waiting.append(ticket)
    }

    mutating func withdraw(_ ticket: StretchOrder.Ticket) {
        guard let index = lines.firstIndex(where: { $0.waiting.contains(ticket) }) else { return }
        lines[index].waiting.removeAll { $0 == ticket }
        if lines[index].waiting.isEmpty, !lines[index].hadTurn { lines.remove(at: index) }
    }

    /// The program has its turn without having waited.
    mutating func noteTurn(of program: ExactName) {
        let index = lineIndex(of: program)
        var line = lines.remove(at: index)
        line.hadTurn = true
        lines.append(line)
    }

    /// Takes the computation whose turn it is; nil when none waits.
    mutating func takeNext() -> StretchOrder.Ticket? {
        while !lines.isEmpty {
            var line = lines.removeFirst()
            guard let next = line.waiting.first else { continue }
            line.waiting.removeFirst()
            line.hadTurn = true
            lines.append(line)
            return next
        }
        return nil
    }

    private mutating func lineIndex(of program: ExactName) -> Int {
        if let index = lines.firstIndex(where: { $0.program == program }) { return index }
        let index = lines.firstIndex(where: \.hadTurn) ?? lines.endIndex
        lines.insert(Line(program: program), at: index)
        return index
    }
}
