import ExactNames

/// Decides which question is next at each place. Pure.
///
/// In the line of a terminal or the dialog, a program has one place, even for several questions; its other questions
/// wait behind the first. When its question has ended and it has another, it goes to the end of the line. So a program
/// waits for at most one question of each other program. The programs of two owners are two programs.
struct PromptOrder {
    /// Names one question in this order.
    struct Ticket: Hashable { fileprivate let number: UInt64 }

    /// The reply to a new question.
    enum Entry: Equatable {
        case turn(Ticket)
        case waits(Ticket)
        case refused
    }

    /// Questions that may wait at one place; a question beyond that is refused.
    static let maximumWaitingCount = 16
    /// Questions of one program that may wait at one place.
    static let maximumWaitingCountOfProgram = 4
    /// Places where one program may ask at once. Each visible question is a process.
    static let maximumPlaceCountOfProgram = 8
    /// Places where the programs of one owner may ask at once, so that they leave places to other owners.
    static let maximumPlaceCountOfOwner = 64
    /// Places where questions may be visible at once.
    static let maximumPlaceCount = 256

    private struct Line {
        /// The program whose question is visible.
        var asking: ProgramOfOwner
        /// Programs in the order of their turns.
        var programs: [ProgramOfOwner] = []
        /// Their questions, oldest first.
        var waiting: [ProgramOfOwner: [Ticket]] = [:]

        var waitingCount: Int { waiting.values.reduce(0) { $0 + $1.count } }
    }

    private var lines: [PromptPlace: Line] = [:]
    private var places: [Ticket: PromptPlace] = [:]
    private var lastNumber: UInt64 = 0

    /// The number of waiting questions, at all places.
    var waitingCount: Int { lines.values.reduce(0) { $0 + $1.waitingCount } }

    /// Adds a question of `program`.
    mutating func enter(_ program: ProgramOfOwner, at place: PromptPlace) -> Entry {
        guard var line = lines[place] else {
            guard mayAskAtOneMorePlace(program) else { return .refused }
            lines[place] = Line(asking: program)
            return .turn(makeTicket(at: place))
        }
        guard line.waitingCount < Self.maximumWaitingCount,
            line.waiting[program, default: []].count < Self.maximumWaitingCountOfProgram
        else { return .refused }
        let ticket = makeTicket(at: place)
        line.waiting[program, default: []].append(ticket)
        if program != line.asking, !line.programs.contains(program) { line.programs.append(program) }
        lines[place] = line
        return .waits(ticket)
    }

    /// Removes a waiting question; false if it does not wait, because it got its turn meanwhile.
    mutating func withdraw(_ ticket: Ticket) -> Bool {
        guard let place = places[ticket], var line = lines[place],
            let program = line.waiting.first(where: { $0.value.contains(ticket) })?.key
        else { return false }
        line.waiting[program]?.removeAll { $0 == ticket }
        if line.waiting[program]?.isEmpty == true {
            line.waiting[program] = nil
            line.programs.removeAll { $0 == program }
        }
        lines[place] = line
        places[ticket] = nil
        return true
    }

    /// Ends the turn of a question. Returns the question whose turn it is now.
    mutating func leave(_ ticket: Ticket) -> Ticket? {
        guard let place = places.removeValue(forKey: ticket), var line = lines[place] else { return nil }
        if line.waiting[line.asking] != nil { line.programs.append(line.asking) }
        guard let program = line.programs.first, let next = line.waiting[program]?.first else {
            lines[place] = nil
            return nil
        }
        line.programs.removeFirst()
        line.waiting[program]?.removeFirst()
        if line.waiting[program]?.isEmpty == true { line.waiting[program] = nil }
        line.asking = program
        lines[place] = line
        return next
    }

    private func mayAskAtOneMorePlace(_ program: ProgramOfOwner) -> Bool {
        let ofOwner = lines.values.filter { $0.asking.owner == program.owner }
        return lines.count < Self.maximumPlaceCount && ofOwner.count < Self.maximumPlaceCountOfOwner
            && ofOwner.count(where: { $0.asking == program }) < Self.maximumPlaceCountOfProgram
    }

    private mutating func makeTicket(at place: PromptPlace) -> Ticket {
        lastNumber += 1
        let ticket = Ticket(number: lastNumber)
        places[ticket] = place
        return ticket
    }
}
