import AuditLog
import Testing

@Suite("Folding of refusals")
struct RefusalAggregatorTests {
    private static func refusal(_ object: String = "right", reason: String = "wrong", time: UInt64 = 0) -> AuditEntry {
        AuditEntry(
            time: time, event: "authorize", result: "refused", program: "app", object: object, operation: "use",
            reason: reason)
    }

    @Test func `the first is written at once, equal ones once more at the window's end`() {
        var aggregator = RefusalAggregator()
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
        var aggregator = RefusalAggregator()
        _ = aggregator.add(Self.refusal(), at: .zero)
        _ = aggregator.add(Self.refusal(time: 5), at: .seconds(5))
        #expect(
            aggregator.add(Self.refusal(time: 10), at: .seconds(10)) == [Self.refusal(time: 5), Self.refusal(time: 10)])
    }

    @Test(arguments: [
        AuditEntry(time: 0, event: "e", result: "", program: "a", object: "o", operation: "p", reason: "r"),
        AuditEntry(time: 0, event: "", result: "", program: "b", object: "o", operation: "p", reason: "r"),
        AuditEntry(time: 0, event: "", result: "", program: "a", object: "x", operation: "p", reason: "r"),
        AuditEntry(time: 0, event: "", result: "", program: "a", object: "o", operation: "x", reason: "r"),
        AuditEntry(time: 0, event: "", result: "", program: "a", object: "o", operation: "p", reason: "x"),
    ])
    func `different refusals are not folded`(other: AuditEntry) {
        var aggregator = RefusalAggregator()
        let one = AuditEntry(time: 0, event: "", result: "", program: "a", object: "o", operation: "p", reason: "r")
        #expect(aggregator.add(one, at: .zero) == [one])
        #expect(aggregator.add(other, at: .zero) == [other])
    }

    @Test func `nothing is lost at the end`() {
        var aggregator = RefusalAggregator()
        for _ in 0..<5 { _ = aggregator.add(Self.refusal(), at: .zero) }
        #expect(aggregator.takeAll().map(\.repetitions) == [4])
        #expect(aggregator.takeAll().isEmpty)
    }

    @Test func `many different refusals are bounded, and each is accounted for`() {
        var aggregator = RefusalAggregator()
        var written: UInt32 = 0
        for number in 0..<1000 {
            for _ in 0..<2 {
                written += aggregator.add(Self.refusal("\(number)"), at: .milliseconds(number))
                    .reduce(0) { $0 + $1.repetitions }
            }
        }
        #expect(aggregator.takeAll().count == RefusalAggregator.capacity)
        #expect(written == 2000 - UInt32(RefusalAggregator.capacity))
    }

    @Test func `a count that is full stays full`() {
        var aggregator = RefusalAggregator()
        var many = Self.refusal()
        many.repetitions = .max
        for _ in 0..<3 { _ = aggregator.add(many, at: .zero) }
        #expect(aggregator.takeAll().map(\.repetitions) == [.max])
    }
}
