/// The conditions of an object, which are fixed when it is made: when it can be used at all, and the requirement of
/// each operation.
///
/// Canonical bytes: format version, availability class, in versions 2, 4 and 5 the limits (``GrantLimits``), number of operations, then
/// for each permitted operation in ascending order its byte, the number of its alternatives and one byte per alternative, as
/// in ``Requirement``. Example: `passcode` for signing while unlocked, deleting for nothing, is `01 03 02 03 01 01 06 01 00`.
/// An access control with limits has version 2, and version 4 if one of them is the trusted place. One that confirms each signature has
/// version 3 and no limits, or version 5 and the limits of its leases. Others have version 1.
public struct AccessControl: Hashable, Sendable {
    public let availability: AvailabilityClass
    /// How long a proof counts for this object, for how many uses and from where; nil for as long as anything, from anywhere.
    public let limits: GrantLimits?
    /// Whether only proofs count that were given at the trusted place.
    public var isAtTrustedPlace: Bool { limits?.isAtTrustedPlace ?? false }
    /// Whether the person is asked for each signature, and sees what is signed. No authorization lasts longer than one
    /// signature then, and nothing but signing is permitted.
    public let confirmsEachSignature: Bool
    /// The greatest limits of a lease under which signatures are made without a confirmation; nil where each one is confirmed without
    /// exception. Only for objects that confirm.
    public let leaseLimits: GrantLimits?
    private let requirements: [Operation: Requirement]

    /// The requirement that key slots are compiled from: all alternatives of all operations that need the access
    /// secret. If the operations have different rules, the broker checks the difference.
    public let keyRequirement: Requirement

    /// An access control with a requirement per permitted operation. An operation that is absent is not permitted at all.
    ///
    /// - Throws: ``AccessControlError`` when the requirements do not go together.
    public init(
        availability: AvailabilityClass, requirements: [Operation: Requirement], limits: GrantLimits? = nil,
        confirmsEachSignature: Bool = false, leaseLimits: GrantLimits? = nil
    ) throws(AccessControlError) {
        self.availability = availability
        self.limits = limits
        self.confirmsEachSignature = confirmsEachSignature
        self.leaseLimits = leaseLimits
        self.requirements = requirements
        keyRequirement = try Self.keyRequirement(of: requirements)
        guard confirmsEachSignature else {
            guard leaseLimits == nil else { throw .leaseLimitsWithoutConfirmation }
            return
        }
        guard leaseLimits?.isAtTrustedPlace != true, limits == nil else { throw .limitsOfConfirmedSignatures }
        guard requirements.keys.allSatisfy({ $0 == .sign || !$0.needsAccessSecret }) else {
            throw .confirmsMoreThanSignatures
        }
    }

    /// The usual access control: `requirement` for reading, signing, decrypting and key exchange, nothing for creating and
    /// deleting, and no change.
    public init(availability: AvailabilityClass, using requirement: Requirement, limits: GrantLimits? = nil) {
        self.availability = availability
        self.limits = limits
        confirmsEachSignature = false
        leaseLimits = nil
        requirements = Dictionary(
            uniqueKeysWithValues: Operation.allCases.filter { $0 != .change }.map {
                ($0, $0.needsAccessSecret ? requirement : .unrestricted)
            })
        keyRequirement = requirement
    }

    /// `requirement` for each signature, which the person confirms; nothing for creating and deleting; nothing else is
    /// permitted.
    ///
    /// - Parameter leases: the greatest limits of a lease, which are limits of time and of uses; nil where no lease may stand in for a
    ///   confirmation.
    public init(
        availability: AvailabilityClass, confirmingEachSignatureWith requirement: Requirement,
        leases: GrantLimits? = nil
    ) {
        precondition(leases?.isAtTrustedPlace != true, "a lease has no place")
        self.availability = availability
        limits = nil
        confirmsEachSignature = true
        leaseLimits = leases
        requirements = [.create: .unrestricted, .sign: requirement, .delete: .unrestricted]
        keyRequirement = requirement
    }

    /// The requirement of `operation`; nil when it is not permitted.
    public subscript(operation: Operation) -> Requirement? { requirements[operation] }

    /// The permitted operations in ascending order.
    public var operations: [Operation] { requirements.keys.sorted() }

    private static func keyRequirement(
        of requirements: [Operation: Requirement]
    ) throws(AccessControlError) -> Requirement {
        let uses = requirements.filter { $0.key.needsAccessSecret }
        guard !uses.isEmpty else { throw .withoutUse }
        let key: Requirement
        do { key = try Requirement(anyOf: uses.values.flatMap(\.alternatives)) } catch {
            // The parts are valid and not none, so only the mixture can be refused.
            throw .applicationPasswordNotInEveryUse
        }
        let asksForPassword = requirements.values.contains { $0.factors.contains(.applicationPassword) }
        guard !asksForPassword || key.factors.contains(.applicationPassword) else {
            throw .applicationPasswordNotInEveryUse
        }
        return key
    }
}

/// Why requirements do not make an access control.
public enum AccessControlError: Error, Hashable, Sendable {
    /// Nothing that needs the object's secret is permitted: the object could be made, but never used.
    case withoutUse
    /// An operation asks for the application password, but the access secret can be had without it. The password is
    /// checked by nothing but the slot it opens, so it must be part of every use.
    case applicationPasswordNotInEveryUse
    /// Each signature is confirmed, and something else than signing needs the object's secret.
    case confirmsMoreThanSignatures
    /// Each signature is confirmed, so there is no authorization that limits could end.
    case limitsOfConfirmedSignatures
    /// Leases have limits of their own only where they stand in for a confirmation; elsewhere the limits of grants hold.
    case leaseLimitsWithoutConfirmation
}

extension AccessControlError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .withoutUse: "no operation that uses the object is permitted"
        case .applicationPasswordNotInEveryUse:
            "either every operation that uses the object must need an application password, or none"
        case .confirmsMoreThanSignatures: "an object that confirms each signature permits no other use"
        case .limitsOfConfirmedSignatures:
            "an object that confirms each signature has no authorization that limits could end"
        case .leaseLimitsWithoutConfirmation: "limits of leases belong to objects that confirm each signature"
        }
    }
}

// MARK: - Canonical bytes

extension AccessControl {
    /// What objects without limits have: their bytes are the same as before there were limits.
    private static let versionWithoutLimits: UInt8 = 1
    private static let versionWithLimits: UInt8 = 2
    private static let versionConfirmingSignatures: UInt8 = 3
    private static let versionAtTrustedPlace: UInt8 = 4
    private static let versionWithLeases: UInt8 = 5

    private var version: UInt8 {
        if confirmsEachSignature {
            return leaseLimits == nil ? Self.versionConfirmingSignatures : Self.versionWithLeases
        }
        if isAtTrustedPlace { return Self.versionAtTrustedPlace }
        return limits == nil ? Self.versionWithoutLimits : Self.versionWithLimits
    }

    /// The canonical bytes; equal access controls have equal bytes.
    public var canonicalBytes: [UInt8] {
        var bytes = [version, availability.rawValue]
        if let limits = limits ?? leaseLimits { bytes += limits.canonicalBytes }
        bytes.append(UInt8(requirements.count))
        for (operation, requirement) in requirements.sorted(by: { $0.key < $1.key }) {
            bytes.append(operation.rawValue)
            requirement.appendCanonicalBody(to: &bytes)
        }
        return bytes
    }

    /// Reads canonical bytes.
    ///
    /// - Throws: ``CanonicalFormError`` for anything that ``canonicalBytes`` does not produce.
    public init(canonicalBytes bytes: [UInt8]) throws(CanonicalFormError) {
        var reader = RuleReader(bytes)
        let version = try reader.readByte()
        let known = [
            Self.versionWithoutLimits, Self.versionWithLimits, Self.versionConfirmingSignatures,
            Self.versionAtTrustedPlace, Self.versionWithLeases,
        ]
        guard known.contains(version) else { throw .unsupportedVersion }
        guard let availability = AvailabilityClass(rawValue: try reader.readByte()) else {
            throw .unknownAvailabilityClass
        }
        let knowsPlace = version == Self.versionAtTrustedPlace
        let hasLeases = version == Self.versionWithLeases
        let limits =
            knowsPlace || hasLeases || version == Self.versionWithLimits
            ? try GrantLimits(from: &reader, knowsPlace: knowsPlace) : nil
        var requirements: [Operation: Requirement] = [:]
        for _ in 0..<(try reader.readByte()) {
            guard let operation = Operation(rawValue: try reader.readByte()) else { throw .unknownOperation }
            // A repeated operation replaces the first one; the comparison at the end then refuses the whole.
            requirements[operation] = try Requirement(bodyFrom: &reader)
        }
        do {
            self = try AccessControl(
                availability: availability, requirements: requirements, limits: hasLeases ? nil : limits,
                confirmsEachSignature: hasLeases || version == Self.versionConfirmingSignatures,
                leaseLimits: hasLeases ? limits : nil)
        } catch {
            throw .invalidAccessControl(error)
        }
        try reader.finish(comparingWith: canonicalBytes)
    }
}
