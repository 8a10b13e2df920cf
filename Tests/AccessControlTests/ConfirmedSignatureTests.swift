import AccessControl
import Testing

@Suite("An access control that confirms each signature")
struct ConfirmedSignatureTests {
    private static var passcode: Requirement { get throws { try Requirement(anyOf: [.passcode]) } }
    /// Version 3, while unlocked, three operations: create, sign with the passcode, delete.
    private static let bytes: [UInt8] = [3, 3, 3, 1, 1, 0, 3, 1, 1, 6, 1, 0]

    @Test func `has version 3 and the documented bytes`() throws {
        let control = try AccessControl(availability: .whenUnlocked, confirmingEachSignatureWith: Self.passcode)
        #expect(control.canonicalBytes == Self.bytes)
        #expect(try AccessControl(canonicalBytes: Self.bytes) == control)
        #expect(control.confirmsEachSignature && control.limits == nil)
        #expect(try control[.sign] == Self.passcode && control.keyRequirement == Self.passcode)
    }

    @Test func `differs from one that confirms nothing by its version alone`() throws {
        let other = try AccessControl(canonicalBytes: [1] + Self.bytes.dropFirst())
        #expect(!other.confirmsEachSignature)
        #expect(try other != AccessControl(availability: .whenUnlocked, confirmingEachSignatureWith: Self.passcode))
    }

    @Test(arguments: [AccessControl.Operation.read, .decrypt, .keyExchange])
    func `permits no use but signing`(operation: AccessControl.Operation) {
        #expect(throws: AccessControlError.confirmsMoreThanSignatures) {
            try AccessControl(
                availability: .whenUnlocked, requirements: [.sign: Self.passcode, operation: Self.passcode],
                confirmsEachSignature: true)
        }
    }

    @Test func `has no limits, because it has no grant`() throws {
        let limits = try GrantLimits(uses: 1)
        #expect(throws: AccessControlError.limitsOfConfirmedSignatures) {
            try AccessControl(
                availability: .whenUnlocked, requirements: [.sign: Self.passcode], limits: limits,
                confirmsEachSignature: true)
        }
    }

    // MARK: leases

    /// Version 5, while unlocked, leases of at most an hour and 20 uses, three operations.
    private static let leaseBytes: [UInt8] = [5, 3, 6, 0, 0, 14, 16, 0, 0, 0, 20, 3, 1, 1, 0, 3, 1, 1, 6, 1, 0]

    @Test func `with leases it has version 5 and the documented bytes, and no limits of grants`() throws {
        let limits = try GrantLimits(hardSeconds: 3600, uses: 20)
        let control = try AccessControl(
            availability: .whenUnlocked, confirmingEachSignatureWith: Self.passcode, leases: limits)
        #expect(control.canonicalBytes == Self.leaseBytes)
        #expect(try AccessControl(canonicalBytes: Self.leaseBytes) == control)
        #expect(control.leaseLimits == limits && control.limits == nil && control.confirmsEachSignature)
        #expect(!control.isAtTrustedPlace)
        #expect(try AccessControl(canonicalBytes: Self.bytes).leaseLimits == nil)
    }

    @Test func `leases belong to what confirms, and have no place`() throws {
        let limits = try GrantLimits(uses: 1)
        #expect(throws: AccessControlError.leaseLimitsWithoutConfirmation) {
            try AccessControl(
                availability: .whenUnlocked, requirements: [.sign: Self.passcode], leaseLimits: limits)
        }
        #expect(throws: AccessControlError.limitsOfConfirmedSignatures) {
            try AccessControl(
                availability: .whenUnlocked, requirements: [.sign: Self.passcode], confirmsEachSignature: true,
                leaseLimits: GrantLimits(isAtTrustedPlace: true))
        }
    }

    @Test(
        arguments: [
            ([5, 3, 0, 1, 3, 1, 1], .invalidLimits(.absent)), ([5, 3, 8, 1, 3, 1, 1], .unknownLimit),
            ([5, 3, 4, 0, 0, 0, 0, 1, 3, 1, 1], .invalidLimits(.usesOutOfRange)),
            ([5, 3, 4, 0, 0, 0, 1, 2, 2, 1, 1, 3, 1, 1], .invalidAccessControl(.confirmsMoreThanSignatures)),
            ([5, 3, 4, 0, 0, 0, 1, 1, 3, 1, 1, 0], .trailingBytes), ([5, 3, 4, 0, 0, 0, 1, 1, 3, 1], .truncated),
        ] as [([UInt8], CanonicalFormError)])
    func `other bytes with leases are refused`(bytes: [UInt8], error: CanonicalFormError) {
        #expect(throws: error) { try AccessControl(canonicalBytes: bytes) }
    }

    @Test(
        arguments: [
            ([3, 3, 1, 4, 1, 1], .invalidAccessControl(.confirmsMoreThanSignatures)),
            ([3, 3, 2, 2, 1, 1, 3, 1, 1], .invalidAccessControl(.confirmsMoreThanSignatures)),
            ([3, 3, 1, 6, 1, 0], .invalidAccessControl(.withoutUse)),
            ([3, 3, 1, 3, 1], .truncated), ([3, 3, 1, 3, 1, 1, 0], .trailingBytes),
            ([3, 3, 1, 0, 0, 0, 60, 1, 3, 1, 1], .unknownOperation),
            ([3, 9, 1, 3, 1, 1], .unknownAvailabilityClass),
        ] as [([UInt8], CanonicalFormError)])
    func `other bytes are refused`(bytes: [UInt8], error: CanonicalFormError) {
        #expect(throws: error) { try AccessControl(canonicalBytes: bytes) }
    }

    @Test func `each truncation is refused, and each flipped bit is refused or another value`() throws {
        let control = try AccessControl(canonicalBytes: Self.bytes)
        for count in Self.bytes.indices {
            #expect(throws: CanonicalFormError.self) { try AccessControl(canonicalBytes: Array(Self.bytes[..<count])) }
        }
        for bit in 0..<Self.bytes.count * 8 {
            var changed = Self.bytes
            changed[bit / 8] ^= 1 << (bit % 8)
            guard let decoded = try? AccessControl(canonicalBytes: changed) else { continue }
            #expect(decoded != control && decoded.canonicalBytes == changed)
        }
    }
}
