import ExactNames
import Testing

@testable import OwnerKeys

@Suite("Whose typed secret is stretched next") struct StretchOrderTests {
    /// The programs in the order of their turns. "a" comes in, "." ends the oldest computation that runs, "-a" withdraws the
    /// oldest that waits of a.
    private func turns(_ steps: String, _ limits: StretchLimits) throws -> String {
        var order = StretchOrder(limits)
        var programs: [StretchOrder.Ticket: String] = [:]
        var (running, waiting, turns): ([StretchOrder.Ticket], [StretchOrder.Ticket], [String]) = ([], [], [])
        func begin(_ ticket: StretchOrder.Ticket) {
            running.append(ticket)
            turns.append(programs[ticket]!)
        }
        for step in steps.split(separator: " ").map(String.init) {
            switch step.first {
            case ".":
                guard !running.isEmpty else { break }
                guard let next = order.leave(running.removeFirst()) else { break }
                waiting.removeAll { $0 == next }
                begin(next)
            case "-":
                let ticket = try #require(waiting.first { programs[$0] == String(step.dropFirst()) })
                let leaves = [order.withdraw(ticket), order.withdraw(ticket)]
                #expect(leaves == [true, false], "it leaves once")
                waiting.removeAll { $0 == ticket }
            default:
                switch order.enter(ExactName(step)) {
                case .turn(let ticket):
                    programs[ticket] = step
                    begin(ticket)
                case .waits(let ticket):
                    programs[ticket] = step
                    waiting.append(ticket)
                case .refused: turns.append("refused")
                }
            }
            #expect(order.runningCount == running.count && running.count <= limits.runCount)
            #expect(order.waitingCount == waiting.count)
        }
        return turns.joined(separator: " ")
    }

    @Test(arguments: [
        ("a . a . b .", 1, "a a b"),
        ("a b c . . .", 1, "a b c"),
        // One of another program waits for no more than the end of one.
        ("a a a a b . . . . .", 1, "a b a a a"),
        ("a a a a b b . . . . . .", 1, "a b a b a a"),
        ("a a a a a b . . . . . .", 2, "a a b a a a"),
        ("a a b b c c . . . . . .", 1, "a b c a b c"),
        // A program that always has one more does not pass the others.
        ("a b c . a . b . c . a .", 1, "a b c a b c"),
        ("a a a b . b . b . b .", 1, "a b a b a"),
        // A newcomer comes before those that had a turn, behind those that had none.
        ("a a b c . d . . . .", 1, "a b c d a"),
        // Withdrawn ones take no turn.
        ("a b c -b . . .", 1, "a c"),
        ("a a a -a . . .", 1, "a a"),
        ("a b -b b . .", 1, "a b"),
    ])
    func `programs take turns`(_ steps: String, _ runCount: Int, _ expected: String) throws {
        #expect(try turns(steps, StretchLimits(runCount: runCount)) == expected)
    }

    @Test func `the 96 of one program delay one of another by one`() throws {
        let flood = Array(repeating: "a", count: 96).joined(separator: " ")
        let order = try turns("\(flood) b . . .", StretchLimits(runCount: 1, waitingCountOfProgram: 96))
        #expect(order == "a b a a")
    }

    @Test func `a program that has too many waiting is refused, and others are not`() throws {
        let limits = StretchLimits(runCount: 1, waitingCountOfProgram: 2)
        #expect(try turns("a a a a b . . a . . .", limits) == "a refused b a a a")
        #expect(try turns("a a a -a a a", limits) == "a refused", "one that left makes room")
    }

    static let gibibyte: UInt64 = 1 << 30

    @Test(arguments: [
        (1, 24 * gibibyte, 1), (2, 24 * gibibyte, 1), (4, 24 * gibibyte, 2), (5, 24 * gibibyte, 2),
        (8, 24 * gibibyte, 4),
        (64, 8 * gibibyte, 4), (64, 64 * gibibyte, 32), (64, gibibyte, 1), (64, 0, 1),
    ])
    func `as many run as leave half of the processors free, in a quarter of the memory`(
        _ processors: Int, _ memory: UInt64, _ expected: Int
    ) {
        #expect(StretchLimits(processorCount: processors, memoryByteCount: memory).runCount == expected)
    }
}
