/// The factors to prove, in canonical form: a list of alternatives, and each alternative is enough.
///
/// Two rules with the same meaning make equal requirements. The alternatives are minimal: no proof of one satisfies
/// another. At most ``maximumAlternativeCount`` sets of factors can be minimal together. So even the longest rule makes
/// no more key slots, and no slot has more than ``maximumFactorCount`` layers.
///
/// Canonical bytes: format version (1), number of alternatives, then one byte per alternative (``FactorSet/rawValue``) in
/// the order of ``FactorSet``. Example: `passcode or (biometry and security-key)` is `01 02 01 0a`.
public struct Requirement: Hashable, Sendable {
    /// The alternatives in canonical order; never empty. The only alternative of ``unrestricted`` is the empty set.
    public let alternatives: [FactorSet]

    /// Most alternatives that a requirement can have: the width of the lattice of the four factors beside the application
    /// password, which is in all alternatives or in none.
    public static let maximumAlternativeCount = 4
    /// Most factors that one alternative can have: `biometryCurrentSet` makes `biometry` needless.
    public static let maximumFactorCount = 4

    /// Nothing has to be proved.
    public static let unrestricted = Requirement(minimal: [[]])

    /// Whether nothing has to be proved.
    public var isUnrestricted: Bool { self == .unrestricted }

    /// The union of every alternative: what somebody could be asked for.
    public var factors: FactorSet { FactorSet(alternatives) }

    /// A requirement that any one of `sets` satisfies; sets that ask for more than another one are dropped.
    ///
    /// - Throws: ``RuleError/emptyConnective`` when there is no set, ``RuleError/applicationPasswordInChoice``.
    public init(anyOf sets: some Sequence<FactorSet>) throws(RuleError) {
        let alternatives = FactorSet.minimal(sets)
        guard !alternatives.isEmpty else { throw .emptyConnective }
        let withPassword = alternatives.count { $0.contains(.applicationPassword) }
        guard withPassword == 0 || withPassword == alternatives.count else { throw .applicationPasswordInChoice }
        self.init(minimal: alternatives)
    }

    /// What satisfies every one of `requirements`; ``unrestricted`` when there is none.
    public init(allOf requirements: some Sequence<Requirement>) {
        // Each part asks for the application password in all of its alternatives or in none, and so does the whole.
        self.init(
            minimal: requirements.reduce([[]]) { joined, part in
                FactorSet.minimal(joined.flatMap { one in part.alternatives.map(one.union) })
            })
    }

    private init(minimal alternatives: [FactorSet]) { self.alternatives = alternatives }
}

extension Requirement: CustomStringConvertible {
    /// The requirement as text that ``Rule/init(parsing:)`` reads and that makes an equal requirement.
    public var description: String {
        guard alternatives.count > 1 else { return alternatives[0].description }
        return alternatives.map { $0.factors.count > 1 ? "(\($0))" : $0.description }.joined(separator: " or ")
    }
}

// MARK: - Canonical bytes

extension Requirement {
    private static let formatVersion: UInt8 = 1

    /// The canonical bytes; equal requirements have equal bytes.
    public var canonicalBytes: [UInt8] {
        var bytes = [Self.formatVersion]
        appendCanonicalBody(to: &bytes)
        return bytes
    }

    /// Reads canonical bytes.
    ///
    /// - Throws: ``CanonicalFormError`` for anything that ``canonicalBytes`` does not produce.
    public init(canonicalBytes bytes: [UInt8]) throws(CanonicalFormError) {
        var reader = RuleReader(bytes)
        guard try reader.readByte() == Self.formatVersion else { throw .unsupportedVersion }
        self = try Requirement(bodyFrom: &reader)
        try reader.finish(comparingWith: canonicalBytes)
    }

    /// Appends the canonical bytes without the version, as they stand inside a larger form.
    func appendCanonicalBody(to bytes: inout [UInt8]) {
        bytes.append(UInt8(alternatives.count))
        for alternative in alternatives { bytes.append(alternative.rawValue) }
    }

    init(bodyFrom reader: inout RuleReader) throws(CanonicalFormError) {
        var sets: [FactorSet] = []
        for _ in 0..<(try reader.readByte()) {
            let set = FactorSet(rawValue: try reader.readByte())
            guard set.isSubset(of: .all) else { throw .unknownFactor }
            sets.append(set)
        }
        do { self = try Requirement(anyOf: sets) } catch { throw .invalidRule(error) }
    }
}
