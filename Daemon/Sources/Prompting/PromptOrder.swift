import ExactNames

/// Decides which question is next at each place. Pure.
///
/// In the line of a terminal or the dialog, an owner has one place, and each program has one place among those of its owner,
/// even for several questions. When a question has ended and its owner or its program has another, they go to the end of
/// the line. So an owner waits for at most one question of each other owner, and a program for at most one question of
/// each other program of its owner, in turn with the other owners. The programs of two owners are two programs.
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
    static let maximumWaitingCount = 64
    /// Questions of one owner that may wait at one place, so that they leave room to other owners.
    static let maximumWaitingCountOfOwner = 16
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
        private(set) var asking: ProgramOfOwner
        /// Owners in the order of their turns, without the one whose question is visible.
        private var owners: [OwnerID?] = []
        /// Programs in the order of their turns, without the one whose question is visible.
        private var programs: [ProgramOfOwner] = []
        /// Their questions, oldest first.
        private var waiting: [ProgramOfOwner: [Ticket]] = [:]

        init(asking: ProgramOfOwner) { self.asking = asking }

        var waitingCount: Int { waiting.values.reduce(0) { $0 + $1.count } }

        func hasRoom(for program: ProgramOfOwner) -> Bool {
            let ofOwner = waiting.reduce(0) { $1.key.owner == program.owner ? $0 + $1.value.count : $0 }
            return waitingCount < PromptOrder.maximumWaitingCount
                && ofOwner < PromptOrder.maximumWaitingCountOfOwner
                && waiting[program, default: []].count < PromptOrder.maximumWaitingCountOfProgram
        }

        mutating func enqueue(_ ticket: Ticket, of program: ProgramOfOwner) {
            waiting[program, default: []].append(ticket)
            if program != asking, !programs.contains(program) { programs.append(program) }
            if program.owner != asking.owner, !owners.contains(program.owner) { owners.append(program.owner) }
        }

        /// Removes a waiting question; false if it does not wait.
        mutating func withdraw(_ ticket: Ticket) -> Bool {
            guard let program = waiting.first(where: { $0.value.contains(ticket) })?.key else { return false }
            waiting[program]?.removeAll { $0 == ticket }
            guard waiting[program]?.isEmpty == true else { return true }
            waiting[program] = nil
            programs.removeAll { $0 == program }
            if !hasWaiting(program.owner) { owners.removeAll { $0 == program.owner } }
            return true
        }

        /// Ends the visible question. Returns the next one, whose program asks now; nil when none waits.
        mutating func takeNext() -> Ticket? {
            if waiting[asking] != nil { programs.append(asking) }
            if hasWaiting(asking.owner) { owners.append(asking.owner) }
            guard let owner = owners.first, let index = programs.firstIndex(where: { $0.owner == owner }) else {
                return nil
            }
            owners.removeFirst()
            asking = programs.remove(at: index)
            let next = waiting[asking]?.removeFirst()
            if waiting[asking]?.isEmpty == true { waiting[asking] = nil }
            return next
        }

        private func hasWaiting(_ owner: OwnerID?) -> Bool { waiting.keys.contains { $0.owner == owner } }
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
        guard line.hasRoom(for: program) else { return .refused }
        let ticket = makeTicket(at: place)
        line.enqueue(ticket, of: program)
        lines[place] = line
        return .waits(ticket)
    }

    /// Removes a waiting question; false if it does not wait, because it got its turn meanwhile.
    mutating func withdraw(_ ticket: Ticket) -> Bool {
        guard let place = places[ticket], var line = lines[place], line.withdraw(ticket) else { return false }
        lines[place] = line
        places[ticket] = nil
        return true
    }

    /// Ends the turn of a question. Returns the question whose turn it is now.
    mutating func leave(_ ticket: Ticket) -> Ticket? {
        guard let place = places.removeValue(forKey: ticket), var line = lines[place] else { return nil }
        let next = line.takeNext()
        lines[place] = next == nil ? nil : line
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
