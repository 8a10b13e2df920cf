import AccessControl
import SeededRandomness
import Testing

@Suite("Canonical bytes")
struct CanonicalFormTests {
    private static func requirement(_ text: String) throws -> Requirement { try Requirement(Rule(parsing: text)) }

    @Test func `the documented examples are what is written`() throws {
        #expect(try Self.requirement("passcode or (biometry and security-key)").canonicalBytes == [1, 2, 0x01, 0x0a])
        #expect(Requirement.unrestricted.canonicalBytes == [1, 1, 0])
        let control = try AccessControl(
            availability: .whenUnlocked,
            requirements: [.delete: .unrestricted, .sign: Self.requirement("passcode")])
        #expect(control.canonicalBytes == [1, 3, 2, 3, 1, 1, 6, 1, 0])
    }

    @Test(
        arguments: [
            ([], .truncated),
            ([1], .truncated),
            ([1, 1], .truncated),
            ([1, 2, 1], .truncated),
            ([0, 1, 1], .unsupportedVersion),
            ([2, 1, 1], .unsupportedVersion),
            ([1, 0], .invalidRule(.emptyConnective)),
            ([1, 1, 0x20], .unknownFactor),
            ([1, 1, 0x81], .unknownFactor),
            ([1, 1, 1, 0], .trailingBytes),
            ([1, 1, 1, 1], .trailingBytes),
            ([1, 2, 2, 1], .notCanonical),  // unsorted
            ([1, 2, 1, 1], .notCanonical),  // repeated
            ([1, 2, 1, 3], .notCanonical),  // absorbed
            ([1, 2, 0, 1], .notCanonical),  // absorbed by nothing being asked
            ([1, 2, 2, 4], .notCanonical),  // the current set beside any finger
            ([1, 1, 6], .notCanonical),  // both biometries in one alternative
            ([1, 2, 3, 8], .notCanonical),  // more factors before fewer
            ([1, 2, 1, 0x10], .invalidRule(.applicationPasswordInChoice)),
        ] as [([UInt8], CanonicalFormError)])
    func `other bytes are refused as a requirement`(bytes: [UInt8], error: CanonicalFormError) {
        #expect(throws: error) { try Requirement(canonicalBytes: bytes) }
    }

    @Test(
        arguments: [
            ([], .truncated),
            ([1, 3, 1, 3, 1], .truncated),
            ([6, 3, 1, 3, 1, 1], .unsupportedVersion),
            ([1, 0, 1, 3, 1, 1], .unknownAvailabilityClass),
            ([1, 5, 1, 3, 1, 1], .unknownAvailabilityClass),
            ([1, 3, 1, 0, 1, 1], .unknownOperation),
            ([1, 3, 1, 8, 1, 1], .unknownOperation),
            ([1, 3, 1, 3, 1, 0x20], .unknownFactor),
            ([1, 3, 1, 3, 0], .invalidRule(.emptyConnective)),
            ([1, 3, 0], .invalidAccessControl(.withoutUse)),
            ([1, 3, 1, 6, 1, 0], .invalidAccessControl(.withoutUse)),
            ([1, 3, 2, 3, 1, 1, 4, 1, 0x10], .invalidAccessControl(.applicationPasswordNotInEveryUse)),
            ([1, 3, 1, 3, 1, 1, 0], .trailingBytes),
            ([1, 3, 2, 4, 1, 1, 3, 1, 1], .notCanonical),  // unsorted
            ([1, 3, 2, 3, 1, 1, 3, 1, 1], .notCanonical),  // repeated
            ([1, 3, 2, 3, 1, 1, 3, 1, 2], .notCanonical),  // repeated with another rule
            ([1, 3, 1, 3, 2, 2, 1], .notCanonical),
        ] as [([UInt8], CanonicalFormError)])
    func `other bytes are refused as an access control`(bytes: [UInt8], error: CanonicalFormError) {
        #expect(throws: error) { try AccessControl(canonicalBytes: bytes) }
    }

    /// A random access control with a valid mixture of operations.
    private static func control(seed: UInt64) throws -> AccessControl {
        var generator = SeededGenerator(seed: seed)
        let withoutPassword = EveryRequirement.all.filter { !FactorSet($0).contains(.applicationPassword) }
        var requirements = [AccessControl.Operation.sign: Requirement.unrestricted]
        for operation in AccessControl.Operation.allCases where operation == .sign || Bool.random(using: &generator) {
            requirements[operation] = try Requirement(anyOf: withoutPassword.randomElement(using: &generator)!)
        }
        return try AccessControl(
            availability: AvailabilityClass.allCases.randomElement(using: &generator)!, requirements: requirements)
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func `each truncation is refused, and each flipped bit is refused or another value in canonical form`(
        seed: UInt64
    ) throws {
        let control = try Self.control(seed: seed)
        let bytes = control.canonicalBytes
        #expect(try AccessControl(canonicalBytes: bytes) == control)
        for count in bytes.indices {
            #expect(throws: CanonicalFormError.self) { try AccessControl(canonicalBytes: Array(bytes[..<count])) }
        }
        #expect(throws: CanonicalFormError.trailingBytes) { try AccessControl(canonicalBytes: bytes + [0]) }
        for bit in 0..<bytes.count * 8 {
            var changed = bytes
            changed[bit / 8] ^= 1 << (bit % 8)
            guard let decoded = try? AccessControl(canonicalBytes: changed) else { continue }
            #expect(decoded.canonicalBytes == changed)
            #expect(decoded != control)
        }
    }

    @Test func `each truncation and flipped bit of each requirement there can be is refused or itself`() throws {
        for sets in EveryRequirement.all {
            let bytes = try Requirement(anyOf: sets).canonicalBytes
            for count in bytes.indices {
                #expect(throws: CanonicalFormError.self) { try Requirement(canonicalBytes: Array(bytes[..<count])) }
            }
            for bit in 0..<bytes.count * 8 {
                var changed = bytes
                changed[bit / 8] ^= 1 << (bit % 8)
                guard let decoded = try? Requirement(canonicalBytes: changed) else { continue }
                #expect(decoded.canonicalBytes == changed)
            }
        }
    }

    @Test func `random bytes never decode to anything but themselves`() {
        var generator = SeededGenerator(seed: 7)
        var decodedCount = 0
        for _ in 0..<20_000 {
            let count = Int.random(in: 0..<12, using: &generator)
            // Small values, so that a part of them gets past the first checks.
            let bytes: [UInt8] = [1] + (0..<count).map { _ in UInt8.random(in: 0..<7, using: &generator) }
            if let requirement = try? Requirement(canonicalBytes: bytes) {
                #expect(requirement.canonicalBytes == bytes)
                decodedCount += 1
            }
            if let control = try? AccessControl(canonicalBytes: bytes) {
                #expect(control.canonicalBytes == bytes)
                decodedCount += 1
            }
        }
        #expect(decodedCount > 0)
    }
}
