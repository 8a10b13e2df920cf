import AccessControl
import SeededRandomness
import Testing

@Suite("Limits of grants")
struct GrantLimitsTests {
    private static let idle: [UInt8] = [2, 3, 1, 0, 0, 0, 60, 1, 3, 1, 1]

    private static func control(_ limits: GrantLimits?) throws -> AccessControl {
        try AccessControl(
            availability: .whenUnlocked, requirements: [.sign: Requirement(anyOf: [.passcode])], limits: limits)
    }

    // MARK: numbers

    @Test(
        arguments: [
            (nil, nil, nil, .absent),
            (0, nil, nil, .idleOutOfRange), (86_401, nil, nil, .idleOutOfRange), (.max, nil, nil, .idleOutOfRange),
            (nil, 0, nil, .hardOutOfRange), (nil, 2_592_001, nil, .hardOutOfRange),
            (nil, nil, 0, .usesOutOfRange), (nil, nil, 1_000_001, .usesOutOfRange),
            (60, 60, nil, .idleNotBelowHard), (61, 60, 1, .idleNotBelowHard),
        ] as [(UInt32?, UInt32?, UInt32?, GrantLimitsError)])
    func `numbers that limit nothing, everything or each other are refused`(
        idle: UInt32?, hard: UInt32?, uses: UInt32?, error: GrantLimitsError
    ) {
        #expect(throws: error) { try GrantLimits(idleSeconds: idle, hardSeconds: hard, uses: uses) }
    }

    @Test(
        arguments: [
            (1, nil, nil), (86_400, nil, nil), (nil, 1, nil), (nil, 2_592_000, nil), (nil, nil, 1),
            (nil, nil, 1_000_000), (1, 2, 1), (86_400, 2_592_000, 1_000_000),
        ] as [(UInt32?, UInt32?, UInt32?)])
    func `the ends of each range are in it`(idle: UInt32?, hard: UInt32?, uses: UInt32?) throws {
        let limits = try GrantLimits(idleSeconds: idle, hardSeconds: hard, uses: uses)
        #expect((limits.idleSeconds, limits.hardSeconds, limits.uses) == (idle, hard, uses))
        let control = try Self.control(limits)
        #expect(try AccessControl(canonicalBytes: control.canonicalBytes) == control)
    }

    // MARK: canonical bytes

    @Test(
        arguments: [
            (60, nil, nil, [1, 0, 0, 0, 60]), (nil, 300, nil, [2, 0, 0, 1, 44]), (nil, nil, 3, [4, 0, 0, 0, 3]),
            (60, nil, 3, [5, 0, 0, 0, 60, 0, 0, 0, 3]),
            (60, 70_000, 3, [7, 0, 0, 0, 60, 0, 1, 17, 112, 0, 0, 0, 3]),
        ] as [(UInt32?, UInt32?, UInt32?, [UInt8])])
    func `an access control with limits has version 2, and they stand behind its class`(
        idle: UInt32?, hard: UInt32?, uses: UInt32?, bytes: [UInt8]
    ) throws {
        let control = try Self.control(GrantLimits(idleSeconds: idle, hardSeconds: hard, uses: uses))
        #expect(control.canonicalBytes == [2, 3] + bytes + [1, 3, 1, 1])
    }

    @Test(
        arguments: [
            (nil, nil, nil, [8]), (60, nil, nil, [9, 0, 0, 0, 60]),
            (60, 70_000, 3, [15, 0, 0, 0, 60, 0, 1, 17, 112, 0, 0, 0, 3]),
        ] as [(UInt32?, UInt32?, UInt32?, [UInt8])])
    func `the trusted place is a limit, and makes version 4`(
        idle: UInt32?, hard: UInt32?, uses: UInt32?, bytes: [UInt8]
    ) throws {
        let limits = try GrantLimits(idleSeconds: idle, hardSeconds: hard, uses: uses, isAtTrustedPlace: true)
        let control = try Self.control(limits)
        #expect(control.isAtTrustedPlace && control.canonicalBytes == [4, 3] + bytes + [1, 3, 1, 1])
        let decoded = try AccessControl(canonicalBytes: control.canonicalBytes)
        #expect(decoded == control && decoded.limits == limits)
        #expect(limits != (try? GrantLimits(idleSeconds: idle, hardSeconds: hard, uses: uses)))
    }

    @Test func `an access control without limits has the bytes that it always had`() throws {
        #expect(try Self.control(nil).canonicalBytes == [1, 3, 1, 3, 1, 1])
        #expect(try AccessControl(canonicalBytes: [1, 3, 1, 3, 1, 1]).limits == nil)
    }

    @Test(
        arguments: [
            ([2, 3, 0, 1, 3, 1, 1], .invalidLimits(.absent)),  // version 2 with no limit
            ([2, 3, 1, 3, 1, 1], .truncated),  // version 1's bytes under version 2
            ([1, 3, 1, 0, 0, 0, 60, 1, 3, 1, 1], .unknownOperation),  // and the other way round
            ([6, 3, 1, 0, 0, 0, 60, 1, 3, 1, 1], .unsupportedVersion),
            ([4, 3, 1, 0, 0, 0, 60, 1, 3, 1, 1], .notCanonical),  // version 4 without its place
            ([4, 3, 0, 1, 3, 1, 1], .invalidLimits(.absent)),
            ([4, 3, 16, 1, 3, 1, 1], .unknownLimit),
            ([4, 3, 24, 1, 3, 1, 1], .unknownLimit),
            ([1, 3, 8, 1, 3, 1, 1], .truncated),  // eight uses in version 1, and no place
            ([2, 3, 8, 0, 0, 0, 60, 1, 3, 1, 1], .unknownLimit),
            ([2, 3, 9, 0, 0, 0, 60, 1, 3, 1, 1], .unknownLimit),
            ([2, 3, 1, 0, 0, 0, 0, 1, 3, 1, 1], .invalidLimits(.idleOutOfRange)),
            ([2, 3, 1, 255, 255, 255, 255, 1, 3, 1, 1], .invalidLimits(.idleOutOfRange)),
            ([2, 3, 2, 0, 0, 0, 0, 1, 3, 1, 1], .invalidLimits(.hardOutOfRange)),
            ([2, 3, 4, 0, 0, 0, 0, 1, 3, 1, 1], .invalidLimits(.usesOutOfRange)),
            ([2, 3, 3, 0, 0, 0, 9, 0, 0, 0, 9, 1, 3, 1, 1], .invalidLimits(.idleNotBelowHard)),
            ([2, 3, 1, 0, 0, 0], .truncated),
            ([2, 3], .truncated),
            ([2, 3, 1, 0, 0, 0, 60, 1, 3, 1, 1, 0], .trailingBytes),
            ([2, 3, 1, 0, 0, 0, 60, 0], .invalidAccessControl(.withoutUse)),
        ] as [([UInt8], CanonicalFormError)])
    func `other bytes are refused`(bytes: [UInt8], error: CanonicalFormError) {
        #expect(throws: error) { try AccessControl(canonicalBytes: bytes) }
    }

    @Test func `each truncation is refused, and each flipped bit is refused or another value`() throws {
        let control = try AccessControl(canonicalBytes: Self.idle)
        for count in Self.idle.indices {
            #expect(throws: CanonicalFormError.self) { try AccessControl(canonicalBytes: Array(Self.idle[..<count])) }
        }
        for bit in 0..<Self.idle.count * 8 {
            var changed = Self.idle
            changed[bit / 8] ^= 1 << (bit % 8)
            guard let decoded = try? AccessControl(canonicalBytes: changed) else { continue }
            #expect(decoded != control && decoded.canonicalBytes == changed)
        }
    }

    @Test func `random bytes never decode to anything but themselves`() {
        var generator = SeededGenerator(seed: 19)
        var decodedCount = 0
        for _ in 0..<40_000 {
            // Small values, so that a part of them gets past the first checks.
            let flags = UInt8.random(in: 0..<9, using: &generator)
            let numbers = (0..<flags.nonzeroBitCount).flatMap { _ in
                [0, 0, UInt8.random(in: 0..<2, using: &generator), .random(in: 0..<3, using: &generator)]
            }
            let rest = (0..<Int.random(in: 0..<8, using: &generator)).map { _ in
                UInt8.random(in: 0..<4, using: &generator)
            }
            let bytes = [2, 3, flags] + numbers + rest
            guard let control = try? AccessControl(canonicalBytes: bytes) else { continue }
            #expect(control.canonicalBytes == bytes && control.limits != nil)
            decodedCount += 1
        }
        #expect(decodedCount > 10)
    }

    @Test func `limits make another access control, and the rest of it stays`() throws {
        let requirement = try Requirement(anyOf: [.passcode])
        let limits = try GrantLimits(uses: 1)
        let (limited, free) = (
            AccessControl(availability: .always, using: requirement, limits: limits),
            AccessControl(availability: .always, using: requirement)
        )
        #expect(limited != free && limited.limits == limits && free.limits == nil)
        #expect(limited.operations == free.operations && limited.keyRequirement == free.keyRequirement)
    }
}
