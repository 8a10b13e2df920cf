import ExactNames
@testable import Prompting
import StoreTestSupport
import Testing

@Suite struct PromptOrderTests {
    /// What happens at a place: a question comes in, or the visible one ends, if there is one.
    ///
    /// A program is named by a word: "a" is a program of no owner, "1:a" one of the first owner.
    enum Step {
        case ask(String)
        case end
        /// The oldest waiting question of this program is withdrawn.
        case withdraw(String)
    }

    private static func program(_ word: String) -> ProgramOfOwner {
        let parts = word.split(separator: ":").map(String.init)
        guard parts.count == 2, let number = UInt8(parts[0]) else { return ProgramOfOwner(stringLiteral: word) }
        return ProgramOfOwner(owner: .numbered(number), program: ExactName(parts[1]))
    }

    /// The programs in the order in which their questions become visible at one place.
    private func shown(_ steps: [Step]) throws -> String {
        var order = PromptOrder()
        var (programs, waiting): ([PromptOrder.Ticket: String], [PromptOrder.Ticket]) = ([:], [])
        var (visible, shown): (PromptOrder.Ticket?, [String]) = (nil, [])
        for step in steps {
            switch step {
            case .ask(let program):
                switch order.enter(Self.program(program), at: .dialog(of: nil)) {
                case .turn(let ticket):
                    #expect(visible == nil)
                    (visible, programs[ticket]) = (ticket, program)
                    shown.append(program)
                case .waits(let ticket):
                    #expect(visible != nil)
                    programs[ticket] = program
                    waiting.append(ticket)
                case .refused: shown.append("refused")
                }
            case .end:
                guard let ended = visible else { break }
                visible = order.leave(ended)
                if let visible {
                    waiting.removeAll { $0 == visible }
                    shown.append(try #require(programs[visible]))
                }
            case .withdraw(let program):
                let ticket = try #require(waiting.first { programs[$0] == program })
                let leaves = [order.withdraw(ticket), order.withdraw(ticket)]
                #expect(leaves == [true, false], "it leaves once")
                waiting.removeAll { $0 == ticket }
            }
        }
        #expect(order.waitingCount == waiting.count)
        return shown.joined(separator: " ")
    }

    /// "a" asks, "." ends the visible question, "-a" withdraws the oldest waiting question of a.
    private func steps(_ text: String) -> [Step] {
        text.split(separator: " ").map { word in
            word == "." ? .end : word.hasPrefix("-") ? .withdraw(String(word.dropFirst())) : .ask(String(word))
        }
    }

    @Test(arguments: [
        ("a . a . b .", "a a b"),
        ("a b c . . .", "a b c"),
        ("a a b . . .", "a b a"),
        ("a a a a b c . . . . . .", "a b c a a a"),
        ("a a b b c . . . . .", "a b c a b"),
        ("a b b a . . . .", "a b a b"),
        ("a b a . c . . .", "a b a c"),
        ("a b c -b . .", "a c"),
        ("a b b c -b . . .", "a b c"),
        ("a a b -a . . a .", "a b a"),
        ("a b -b b . .", "a b"),
        ("a b -b . . ", "a"),
        ("a a a a a a b . . ", "a refused b a"),
        // Programs of one name, of two owners.
        ("1:a 1:a 1:a 2:a . . . .", "1:a 2:a 1:a 1:a"),
        ("1:a 2:a 1:a 1:a -1:a . . .", "1:a 2:a 1:a"),
        // Owners take turns, and programs of an owner.
        ("1:a 1:b 1:c 1:d 2:a . . . . .", "1:a 2:a 1:b 1:c 1:d"),
        ("1:a 1:b 1:c 2:a 2:b 2:a . . . . . .", "1:a 2:a 1:b 2:b 1:c 2:a"),
        ("1:a 1:b 1:a 2:x 3:x . . . . .", "1:a 2:x 3:x 1:b 1:a"),
        ("1:a 2:a . 1:b 2:b 1:c . . . .", "1:a 2:a 1:b 2:b 1:c"),
        // One that leaves takes no turn, nor does an owner without a waiting one.
        ("1:a 1:b 2:a 3:a -2:a . . .", "1:a 3:a 1:b"),
        ("1:a 1:b 2:a 2:b -2:a . . .", "1:a 2:b 1:b"),
        ("1:a 1:a 2:a -1:a . .", "1:a 2:a"),
    ]) func `turns at one place`(_ text: String, _ expected: String) throws {
        #expect(try shown(steps(text)) == expected)
    }

    @Test func `a newcomer waits for at most one question of each program before it`() throws {
        var (order, tickets): (PromptOrder, [PromptOrder.Ticket: String]) = (PromptOrder(), [:])
        guard case .turn(var visible) = order.enter("a", at: .dialog(of: nil)) else { Issue.record("no turn"); return }
        for program in ["a", "a", "b", "b", "b", "c", "c", "new"] {
            guard case .waits(let ticket) = order.enter(Self.program(program), at: .dialog(of: nil)) else {
                Issue.record("no place"); return
            }
            tickets[ticket] = program
        }
        var before: [String] = []
        while let next = order.leave(visible), tickets[next] != "new" {
            before.append(try #require(tickets[next]))
            visible = next
        }
        #expect(before == ["b", "c"])
    }

    @Test func `at one place questions of all owners wait up to a number`() {
        var order = PromptOrder()
        let owners = PromptOrder.maximumWaitingCount / PromptOrder.maximumWaitingCountOfOwner
        let questions = (0..<owners).flatMap { owner in
            (0..<PromptOrder.maximumWaitingCountOfOwner).map { "\(owner):\($0)" }
        }
        let entries = (["0:first"] + questions + ["\(owners):a"]).map {
            order.enter(Self.program($0), at: .dialog(of: nil))
        }
        #expect(entries.count { $0 == .refused } == 1 && entries.last == .refused)
        #expect(order.waitingCount == PromptOrder.maximumWaitingCount)
    }

    @Test func `a question beyond a limit is refused, one at the limit is not`() {
        var order = PromptOrder()
        func fill(_ place: PromptPlace, _ programs: [String]) -> [Bool] {
            programs.map { order.enter(Self.program($0), at: place) != .refused }
        }
        let many = (0...PromptOrder.maximumWaitingCountOfOwner).map { "\($0)" }
        let dialog = fill(.dialog(of: nil), many + ["late"])
        #expect(dialog == many.map { _ in true } + [false])
        let limit = PromptOrder.maximumWaitingCountOfProgram
        let terminal = fill(.terminal(1), Array(repeating: "a", count: limit + 2) + ["b"])
        #expect(terminal == Array(repeating: true, count: limit + 1) + [false, true])
    }

    @Test func `an owner with many programs leaves room at one place, and waits in turn with another owner`() throws {
        var order = PromptOrder()
        guard case .turn(let visible) = order.enter("a", at: .dialog(of: nil)) else { Issue.record("no turn"); return }
        let waiting = (0..<PromptOrder.maximumWaitingCountOfOwner).map { order.enter("\($0)", at: .dialog(of: nil)) }
        #expect(!waiting.contains(.refused))
        let (late, other) = (
            order.enter("late", at: .dialog(of: nil)), order.enter(Self.program("1:a"), at: .dialog(of: nil))
        )
        #expect(late == .refused)
        guard case .waits(let ticket) = other else { Issue.record("\(other)"); return }
        let next = order.leave(visible)
        #expect(next == ticket, "it waits for one question, not for all of the other owner")
    }

    @Test func `another owner's program of the same name is not held up`() {
        var order = PromptOrder()
        func isRefused(_ program: String, at place: PromptPlace) -> Bool {
            order.enter(Self.program(program), at: place) == .refused
        }
        for count in 0...PromptOrder.maximumWaitingCountOfProgram {
            let isHeldUp = isRefused("1:a", at: .dialog(of: nil))
            #expect(!isHeldUp, "\(count) wait")
        }
        let waiting = [isRefused("1:a", at: .dialog(of: nil)), isRefused("2:a", at: .dialog(of: nil))]
        #expect(waiting == [true, false])
        for terminal in UInt32(1)..<8 {
            let isHeldUp = isRefused("1:a", at: .terminal(terminal))
            #expect(!isHeldUp, "terminal \(terminal)")
        }
        let places = [isRefused("1:a", at: .terminal(8)), isRefused("2:a", at: .terminal(8))]
        #expect(places == [true, false])
    }

    @Test func `one program asks at no more than eight places, all of an owner at no more than 64`() {
        var order = PromptOrder()
        var tickets: [PromptOrder.Ticket] = []
        for terminal in UInt32(0)..<64 {
            let entry = order.enter("\(terminal / 8)", at: .terminal(terminal))
            guard case .turn(let ticket) = entry else { Issue.record("\(entry)"); return }
            tickets.append(ticket)
            guard terminal == 7 else { continue }
            let ninth = order.enter("0", at: .dialog(of: nil))
            #expect(ninth == .refused)
        }
        func isRefused(_ program: String) -> Bool {
            order.enter(Self.program(program), at: .dialog(of: nil)) == .refused
        }
        let refusals = [isRefused("new"), order.leave(tickets[0]) != nil, isRefused("1"), isRefused("new")]
        #expect(refusals == [true, false, true, false])
    }

    @Test func `an owner with many programs takes no place of another one, and there are 256 of all`() {
        var order = PromptOrder()
        func isRefused(_ owner: UInt8, at terminal: UInt32) -> Bool {
            let program = ProgramOfOwner(owner: .numbered(owner), program: "\(terminal)")
            return order.enter(program, at: .terminal(terminal)) == .refused
        }
        for owner in UInt8(0)..<4 {
            let terminals = UInt32(owner) * 64..<UInt32(owner) * 64 + 64
            let refusals = terminals.map { isRefused(owner, at: $0) }
            #expect(!refusals.contains(true))
            // The last owner's would be one too many of all.
            let further = isRefused(owner, at: 1000)
            #expect(further)
        }
        let newcomer = isRefused(4, at: 1000)
        #expect(newcomer)
    }
}
