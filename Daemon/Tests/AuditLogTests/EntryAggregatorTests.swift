import AuditLog
import ExactNames
import Testing

@Suite("Folding of equal entries")
struct EntryAggregatorTests {
    private static func refusal(
        _ object: String = "right", program: String = "app", reason: String = "wrong", time: UInt64 = 0
    ) -> AuditEntry {
        AuditEntry(
            time: time, event: "authorize", result: "refused", program: program, object: object, operation: "use",
            reason: reason)
    }

    @Test func `the first is written at once, equal ones once more at the window's end`() {
        var aggregator = EntryAggregator()
        #expect(aggregator.add(Self.refusal(time: 1), at: .zero) == [Self.refusal(time: 1)])
        #expect(aggregator.nextDue == nil)
        for second in 1...3 {
            #expect(aggregator.add(Self.refusal(time: UInt64(second)), at: .seconds(second)).isEmpty)
        }
        #expect(aggregator.nextDue == .seconds(10))
        #expect(aggregator.takeDue(at: .milliseconds(9_999)).isEmpty)
        var folded = Self.refusal(time: 3)
        folded.repetitions = 3
        #expect(aggregator.takeDue(at: .seconds(10)) == [folded])
        #expect(aggregator.takeDue(at: .seconds(30)).isEmpty && aggregator.nextDue == nil)
    }

    @Test func `a refusal after the window begins a new one`() {
        var aggregator = EntryAggregator()
        _ = aggregator.add(Self.refusal(), at: .zero)
        _ = aggregator.add(Self.refusal(time: 5), at: .seconds(5))
        #expect(
            aggregator.add(Self.refusal(time: 10), at: .seconds(10)) == [Self.refusal(time: 5), Self.refusal(time: 10)])
    }

    @Test(arguments: [
        AuditEntry(
            time: 0, owner: .test(1), event: "", result: "", program: "a", object: "o", operation: "p", reason: "r"),
        AuditEntry(time: 0, event: "e", result: "", program: "a", object: "o", operation: "p", reason: "r"),
        AuditEntry(time: 0, event: "", result: "x", program: "a", object: "o", operation: "p", reason: "r"),
        AuditEntry(time: 0, event: "", result: "", program: "b", object: "o", operation: "p", reason: "r"),
        AuditEntry(time: 0, event: "", result: "", program: "a", object: "x", operation: "p", reason: "r"),
        AuditEntry(time: 0, event: "", result: "", program: "a", object: "o", operation: "x", reason: "r"),
        AuditEntry(time: 0, event: "", result: "", program: "a", object: "o", operation: "p", reason: "x"),
    ])
    func `different refusals are not folded`(other: AuditEntry) {
        var aggregator = EntryAggregator()
        let one = AuditEntry(time: 0, event: "", result: "", program: "a", object: "o", operation: "p", reason: "r")
        #expect(aggregator.add(one, at: .zero) == [one])
        #expect(aggregator.add(other, at: .zero) == [other])
    }

    @Test func `nothing is lost at the end`() {
        var aggregator = EntryAggregator()
        for _ in 0..<5 { _ = aggregator.add(Self.refusal(), at: .zero) }
        #expect(aggregator.takeAll().map(\.repetitions) == [4])
        #expect(aggregator.takeAll().isEmpty)
    }

    /// Programs that never do the same twice, and the same done twice by each of many programs.
    @Test(arguments: [(2000, 5, 1), (2000, 1000, 2)])
    func `different refusals of many programs are bounded, and each is accounted for`(
        count: Int, programCount: Int, repetitions: Int
    ) throws {
        var aggregator = EntryAggregator()
        var written: [AuditEntry] = []
        for number in 0..<count {
            let refusal = Self.refusal("\(number)", program: "\(number % programCount)")
            for _ in 0..<repetitions { written += aggregator.add(refusal, at: .milliseconds(number)) }
        }
        #expect(written.count == EntryAggregator.capacity && written.allSatisfy { $0.repetitions == 1 })
        let held = aggregator.takeAll()
        #expect(held.count == 1 + (repetitions > 1 ? EntryAggregator.capacity : 0))
        let others = try #require(held.first { $0.object == EntryAggregator.others })
        #expect(others.program == EntryAggregator.others && others.processID == 0 && others.reason.isEmpty)
        #expect(others.event == "authorize" && others.result == "refused")
        #expect(Int(others.repetitions) == (count - EntryAggregator.capacity) * repetitions)
        #expect((written + held).reduce(0) { $0 + Int($1.repetitions) } == count * repetitions)
    }

    @Test func `where many programs have filled the table, each window begins with names again`() {
        var aggregator = EntryAggregator()
        for number in 0..<EntryAggregator.capacity {
            _ = aggregator.add(Self.refusal(program: "\(number)"), at: .zero)
        }
        #expect(aggregator.add(Self.refusal(program: "late"), at: .seconds(9)).isEmpty)
        let later = aggregator.add(Self.refusal(program: "late"), at: .seconds(11))
        #expect(later == [Self.refusal(program: "late")])
        #expect(aggregator.takeDue(at: .seconds(19)).map(\.program) == [EntryAggregator.others])
    }

    @Test func `a program that never does the same twice is bounded, and each entry is accounted for`() throws {
        var aggregator = EntryAggregator()
        var written: [AuditEntry] = []
        for number in 0..<5000 { written += aggregator.add(Self.refusal("\(number)"), at: .milliseconds(number)) }
        #expect(written.map(\.object) == (0..<64).map { "\($0)" })
        // Another program is written as ever.
        #expect(aggregator.add(Self.refusal(program: "other"), at: .seconds(5)).count == 1)
        #expect(aggregator.nextDue != nil)
        let others = aggregator.takeAll()
        let summary = try #require(others.first)
        #expect(others.count == 1 && summary.repetitions == 5000 - 64)
        #expect(summary.object == EntryAggregator.others && summary.program == "app" && summary.reason.isEmpty)
        #expect(summary.event == "authorize" && summary.result == "refused")
        // In the next window it is heard again.
        #expect(aggregator.add(Self.refusal("x"), at: .seconds(20)).map(\.object) == ["x"])
    }

    @Test func `what is summed up keeps its owner`() {
        var aggregator = EntryAggregator()
        let owner = OwnerID.test(1)
        for number in 0..<100 {
            let entry = AuditEntry(time: 0, owner: owner, event: "e", result: "r", program: "a", object: "\(number)")
            _ = aggregator.add(entry, at: .zero)
        }
        let others = aggregator.takeAll()
        #expect(others.map(\.object) == [EntryAggregator.others] && others.map(\.owner) == [owner])
    }

    @Test func `a count that is full stays full`() {
        var aggregator = EntryAggregator()
        var many = Self.refusal()
        many.repetitions = .max
        for _ in 0..<3 { _ = aggregator.add(many, at: .zero) }
        #expect(aggregator.takeAll().map(\.repetitions) == [.max])
    }
}
