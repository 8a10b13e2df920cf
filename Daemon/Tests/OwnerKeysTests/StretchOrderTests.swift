import Authenticators
import ExactNames
import StoreTestSupport
import Testing

@testable import Broker
@testable import OwnerKeys
@testable import Sessions

@Suite("Whose typed secret is stretched next") struct StretchOrderTests {
    /// The programs in the order of their turns. "a" comes in, "." ends the oldest computation that runs, "-a" withdraws the
    /// oldest that waits of a. "1:a" is a program of the first owner.
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
                switch order.enter(program(step)) {
                case .turn(let ticket):
                    programs[ticket] = step
                    begin(ticket)
                case .waits(let ticket):
                    programs[ticket] = step
                    waiting.append(ticket)
                case .refused(.program): turns.append("refused")
                case .refused(.owner): turns.append("owner-refused")
                }
            }
            #expect(order.runningCount == running.count && running.count <= limits.runCount)
            #expect(order.waitingCount == waiting.count)
        }
        return turns.joined(separator: " ")
    }

    private func program(_ word: String) -> ProgramOfOwner {
        let parts = word.split(separator: ":").map(String.init)
        guard parts.count == 2, let number = UInt8(parts[0]) else { return ProgramOfOwner(stringLiteral: word) }
        return ProgramOfOwner(owner: .numbered(number), program: ExactName(parts[1]))
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

    @Test(arguments: [
        ("1:a 1:a 1:a 2:a . . . .", 1, "1:a 2:a 1:a 1:a"),
        // An owner with several programs has one turn, as an owner with one program has.
        ("1:a 1:b 1:c 2:a 2:a . . . . .", 1, "1:a 2:a 1:b 2:a 1:c"),
        ("1:a 1:b 1:a 1:b 2:x 2:x 2:y . . . . . . .", 1, "1:a 2:x 1:b 2:y 1:a 2:x 1:b"),
        ("1:a 1:b 1:c 1:d 2:a . . . . .", 2, "1:a 1:b 2:a 1:c 1:d"),
        // A new program of an owner who had a turn does not come before another owner.
        ("1:a 2:a 3:a 1:b . . . .", 1, "1:a 2:a 3:a 1:b"),
        ("1:a 2:a . 1:b 2:b 1:c . . . .", 1, "1:a 2:a 1:b 2:b 1:c"),
        // An owner who had a turn and has nothing waiting is not new with the next request.
        ("1:a 2:a 3:a . 2:b 1:b . . . .", 1, "1:a 2:a 3:a 1:b 2:b"),
        // Withdrawn ones take no turn, and an owner without a waiting one takes none.
        ("1:a 2:a 3:a -2:a . . .", 1, "1:a 3:a"),
        ("1:a 2:a 2:b 3:a -2:a . . . .", 1, "1:a 2:b 3:a"),
        // The daemon takes turns like an owner.
        ("a b c 1:a . . . .", 1, "a 1:a b c"),
    ])
    func `owners take turns, and programs of an owner`(_ steps: String, _ runCount: Int, _ expected: String) throws {
        #expect(try turns(steps, StretchLimits(runCount: runCount)) == expected)
    }

    @Test func `another owner's program of the same name is not held up`() throws {
        let limits = StretchLimits(runCount: 1, waitingCountOfProgram: 2)
        #expect(try turns("1:a 1:a 1:a 1:a 2:a . . . .", limits) == "1:a refused 2:a 1:a 1:a")
    }

    @Test func `one owner with 20 programs waits, and another's next turn comes after one of them`() throws {
        let many = (1...20).map { "1:\($0)" }
        let steps = (many + ["2:a", ".", ".", "2:a", ".", ".", "2:a", ".", "."]).joined(separator: " ")
        let expected = "1:1 2:a 1:2 2:a 1:3 2:a 1:4"
        #expect(try turns(steps, StretchLimits(runCount: 1)) == expected)
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

    @Test func `an owner whose programs have too many waiting is refused, and another owner is not`() throws {
        let limits = StretchLimits(runCount: 1, waitingCountOfProgram: 2, waitingCountOfOwner: 3)
        let full = "1:a 1:a 1:b 1:b"
        #expect(try turns("\(full) 1:c", limits) == "1:a owner-refused")
        #expect(try turns("\(full) 1:b", limits) == "1:a refused", "the program's own share is named first")
        #expect(try turns("\(full) 1:c 2:a 2:b . . .", limits) == "1:a owner-refused 2:a 1:b 2:b")
        #expect(try turns("\(full) -1:b 1:c 1:d", limits) == "1:a owner-refused", "one that left makes room")
        #expect(try turns("\(full) . 1:c 1:d", limits) == "1:a 1:b owner-refused", "and one that has its turn")
    }

    @Test func `what one owner may have in a daemon is never refused for the owner's share`() throws {
        for limits in [SessionLimits.ofOneUser, .ofMany(descriptorCount: 1 << 20)] {
            let waiting = limits.slowRequests.ofOwner + limits.readings.ofOwner
            #expect(StretchLimits(runCount: 1).waitingCountOfOwner >= waiting)
        }
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
