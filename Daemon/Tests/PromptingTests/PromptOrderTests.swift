import ExactNames
@testable import Prompting
import Testing

@Suite struct PromptOrderTests {
    /// What happens at a place: a question comes in, or the visible one ends, if there is one.
    enum Step {
        case ask(String)
        case end
        /// The oldest waiting question of this program is withdrawn.
        case withdraw(String)
    }

    /// The programs in the order in which their questions become visible at one place.
    private func shown(_ steps: [Step]) throws -> String {
        var order = PromptOrder()
        var (programs, waiting): ([PromptOrder.Ticket: String], [PromptOrder.Ticket]) = ([:], [])
        var (visible, shown): (PromptOrder.Ticket?, [String]) = (nil, [])
        for step in steps {
            switch step {
            case .ask(let program):
                switch order.enter(ExactName(program), at: .dialog) {
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
    ]) func `turns at one place`(_ text: String, _ expected: String) throws {
        #expect(try shown(steps(text)) == expected)
    }

    @Test func `a newcomer waits for at most one question of each program before it`() throws {
        var (order, tickets): (PromptOrder, [PromptOrder.Ticket: String]) = (PromptOrder(), [:])
        guard case .turn(var visible) = order.enter("a", at: .dialog) else { Issue.record("no turn"); return }
        for program in ["a", "a", "b", "b", "b", "c", "c", "new"] {
            guard case .waits(let ticket) = order.enter(ExactName(program), at: .dialog) else {
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

    @Test func `a question beyond a limit is refused, one at the limit is not`() {
        var order = PromptOrder()
        func fill(_ place: PromptPlace, _ programs: [String]) -> [Bool] {
            programs.map { order.enter(ExactName($0), at: place) != .refused }
        }
        let many = (0...PromptOrder.maximumWaitingCount).map { "\($0)" }
        let dialog = fill(.dialog, many + ["late"])
        #expect(dialog == many.map { _ in true } + [false])
        let limit = PromptOrder.maximumWaitingCountOfProgram
        let terminal = fill(.terminal(1), Array(repeating: "a", count: limit + 2) + ["b"])
        #expect(terminal == Array(repeating: true, count: limit + 1) + [false, true])
    }

    @Test func `one program asks at no more than eight places, all programs at no more than 64`() {
        var order = PromptOrder()
        var tickets: [PromptOrder.Ticket] = []
        for terminal in UInt32(0)..<64 {
            let entry = order.enter("\(terminal / 8)", at: .terminal(terminal))
            guard case .turn(let ticket) = entry else { Issue.record("\(entry)"); return }
            tickets.append(ticket)
            guard terminal == 7 else { continue }
            let ninth = order.enter("0", at: .dialog)
            #expect(ninth == .refused)
        }
        func isRefused(_ program: String) -> Bool { order.enter(ExactName(program), at: .dialog) == .refused }
        let refusals = [isRefused("new"), order.leave(tickets[0]) != nil, isRefused("1"), isRefused("new")]
        #expect(refusals == [true, false, true, false])
    }
}
