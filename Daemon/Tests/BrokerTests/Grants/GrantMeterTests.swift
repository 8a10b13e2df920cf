import AccessControl
import Testing

@testable import ProtectedObjects

/// The arithmetic of limits, without a clock.
@Suite("The meter of a grant")
struct GrantMeterTests {
    private static let start = Duration.seconds(1000)

    private static func meter(idle: UInt32? = nil, hard: UInt32? = nil, uses: UInt32? = nil) throws -> GrantMeter {
        GrantMeter(try GrantLimits(idleSeconds: idle, hardSeconds: hard, uses: uses), since: start)
    }

    /// Limits, moments of uses in seconds since the proof, the moment that is looked at, and what has ended the grant then.
    private static let table: [(UInt32?, UInt32?, UInt32?, [Double], Double, GrantEnd?)] = [
        (10, nil, nil, [], 0, nil), (10, nil, nil, [], 9.999, nil),
        (10, nil, nil, [], 10, .expiredIdle), (10, nil, nil, [], 100, .expiredIdle),
        (10, nil, nil, [9], 18.999, nil), (10, nil, nil, [9], 19, .expiredIdle),
        (10, nil, nil, [9, 18, 27], 36.999, nil), (10, nil, nil, [9, 18, 27], 37, .expiredIdle),
        (nil, 10, nil, [], 9.999, nil), (nil, 10, nil, [], 10, .expired), (nil, 10, nil, [1, 9], 10, .expired),
        (6, 10, nil, [], 6, .expiredIdle), (6, 10, nil, [], 20, .expiredIdle),
        (6, 10, nil, [5], 10, .expired), (6, 10, nil, [5], 9.999, nil), (6, 10, nil, [4], 10, .expired),
        (6, 10, nil, [3], 9, .expiredIdle),
        (nil, nil, 1, [], 1_000_000, nil), (nil, nil, 1, [1], 1, .usedUp), (nil, nil, 2, [1], 1, nil),
        (nil, nil, 2, [1, 1], 1, .usedUp), (6, 10, 2, [1, 2], 3, .usedUp), (6, 10, 2, [1, 2], 100, .usedUp),
    ]

    @Test(arguments: table)
    func `ends with the first limit that it reaches, and says which`(
        idle: UInt32?, hard: UInt32?, uses: UInt32?, moments: [Double], now: Double, end: GrantEnd?
    ) throws {
        var meter = try Self.meter(idle: idle, hard: hard, uses: uses)
        for moment in moments { try meter.use(at: Self.start + .seconds(moment)) }
        #expect(meter.end(at: Self.start + .seconds(now)) == end)
    }

    @Test func `a use after the end counts nothing and renews nothing`() throws {
        var meter = try Self.meter(idle: 10, uses: 2)
        #expect(throws: GrantEnd.expiredIdle) { try meter.use(at: Self.start + .seconds(10)) }
        #expect(meter.usesLeft == 2 && meter.end == Self.start + .seconds(10))
        try meter.use(at: Self.start + .seconds(9))
        try meter.use(at: Self.start + .seconds(9))
        #expect(throws: GrantEnd.usedUp) { try meter.use(at: Self.start + .seconds(9)) }
        #expect(meter.usesLeft == 0)
    }

    @Test func `counts as many uses as a program makes`() throws {
        var meter = try Self.meter(hard: 10)
        meter.useCount = .max - 1
        for _ in 1...3 { try meter.use(at: Self.start) }
        #expect(meter.useCount == .max && meter.usesLeft == nil && meter.end(at: Self.start) == nil)
    }

    @Test func `tells when it ends by time, if it does`() throws {
        #expect(try Self.meter(uses: 1).end == nil)
        #expect(try Self.meter(idle: 5).end == Self.start + .seconds(5))
        #expect(try Self.meter(hard: 7, uses: 1).end == Self.start + .seconds(7))
        #expect(try Self.meter(idle: 5, hard: 7).end == Self.start + .seconds(5))
        #expect(try Self.meter(idle: 5).usesLeft == nil)
    }
}
