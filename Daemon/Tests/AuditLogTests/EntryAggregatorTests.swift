import AuditLog
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

    @Test func `many different refusals are bounded, and each is accounted for`() {
        var aggregator = EntryAggregator()
        var written: UInt32 = 0
        for number in 0..<1000 {
            for _ in 0..<2 {
                written += aggregator.add(Self.refusal(program: "\(number)"), at: .milliseconds(number))
                    .reduce(0) { $0 + $1.repetitions }
            }
        }
        #expect(aggregator.takeAll().count == EntryAggregator.capacity)
        #expect(written == 2000 - UInt32(EntryAggregator.capacity))
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

    @Test func `a count that is full stays full`() {
        var aggregator = EntryAggregator()
        var many = Self.refusal()
        many.repetitions = .max
        for _ in 0..<3 { _ = aggregator.add(many, at: .zero) }
        #expect(aggregator.takeAll().map(\.repetitions) == [.max])
    }
}
