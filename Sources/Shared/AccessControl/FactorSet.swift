/// A set of factors: the proved ones, or the ones that must be proved together.
///
/// The bit of a factor is `1 << (factor.rawValue - 1)`, so the five factors use the low five bits of ``rawValue``.
public struct FactorSet: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The set of one factor.
    public init(_ factor: Factor) { self.init(rawValue: 1 << (factor.rawValue - 1)) }

    public static let passcode = FactorSet(.passcode)
    public static let biometry = FactorSet(.biometry)
    public static let biometryCurrentSet = FactorSet(.biometryCurrentSet)
    public static let securityKey = FactorSet(.securityKey)
    public static let applicationPassword = FactorSet(.applicationPassword)

    /// Every factor there is.
    public static let all = FactorSet(Factor.allCases.map { FactorSet($0) })

    /// The members, in the order of ``Factor``.
    public var factors: [Factor] { Factor.allCases.filter { contains(FactorSet($0)) } }

    /// Whether proving this set proves all of `required`.
    ///
    /// A finger of the current set is an enrolled finger, so ``biometryCurrentSet`` stands for ``biometry`` too, never
    /// the other way round. No other factor stands for another one: a passcode is not biometry.
    public func satisfies(_ required: FactorSet) -> Bool { required.missing(from: self).isEmpty }

    /// The factors that must be proved in addition to `held` to satisfy this set.
    public func missing(from held: FactorSet) -> FactorSet { subtracting(held.withImplied) }

    /// This set and the factors that it proves too.
    private var withImplied: FactorSet { contains(.biometryCurrentSet) ? union(.biometry) : self }

    /// The smallest set that asks for the same: without `biometry` where `biometryCurrentSet` is asked for anyway.
    var reduced: FactorSet { contains(.biometryCurrentSet) ? subtracting(.biometry) : self }

    /// The weakest demands among `sets` in canonical order: a set that satisfies another one of them is left out,
    /// because its proof proves the smaller set too.
    static func minimal(_ sets: some Sequence<FactorSet>) -> [FactorSet] {
        // A smaller demand sorts before every set that satisfies it, so a comparison with the kept sets is enough.
        sets.map(\.reduced).sorted().reduce(into: []) { kept, candidate in
            if !kept.contains(where: candidate.satisfies) { kept.append(candidate) }
        }
    }
}

extension FactorSet: Comparable {
    /// Canonical order: fewer factors first, then by raw value.
    public static func < (left: FactorSet, right: FactorSet) -> Bool {
        (left.rawValue.nonzeroBitCount, left.rawValue) < (right.rawValue.nonzeroBitCount, right.rawValue)
    }
}

extension FactorSet: CustomStringConvertible {
    /// The names joined by `and`, as a rule spells them; `unrestricted` when the set is empty.
    public var description: String {
        isEmpty ? Rule.unrestricted.description : factors.map(\.name).joined(separator: " and ")
    }
}
