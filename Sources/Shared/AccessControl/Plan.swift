/// Whether the class key that every slot of an object needs is at hand.
public enum UnlockState: Hashable, Sendable {
    /// The class key is in memory.
    case open
    /// The class key can be opened with the passcode.
    case needsPasscode
    /// The class key is closed, and nothing that a person could prove now would open it.
    case closed
    /// There is no such class key, as ``AvailabilityClass/whenPasscodeSet`` without a passcode.
    case withoutClassKey
}

/// The answer of ``plan``: whether a request may carry out its operation, and if not, which factors are missing.
public enum Plan: Hashable, Sendable {
    /// The held factors are enough. `by` is the satisfied alternative with the fewest factors, and also contains the
    /// passcode if the passcode opens the class key.
    case satisfied(by: FactorSet)
    /// Proving one of these sets in addition to the held factors is enough. Never empty; minimal, fewest factors first.
    case needs([FactorSet])
    /// Nothing that could be proved now is enough.
    case impossible(Impossibility)
}

/// The reasons why no proof can allow an operation now.
public enum Impossibility: Error, Hashable, Sendable {
    /// The access control permits the operation to nobody.
    case operationNotPermitted
    /// The class key is closed (``UnlockState/closed``).
    case locked
    /// There is no class key (``UnlockState/withoutClassKey``).
    case withoutClassKey
    /// Each alternative lacks a factor that is unavailable; this one is what to tell the person about.
    case unavailable(Factor, Unavailability)
}

/// Decides whether an operation is allowed, and if not, which factors would allow it. No other code decides this.
///
/// Factors that are held count although they may be unavailable by now. A factor counts as provable only if `available`
/// says so of that very factor, or if it only waits for a passcode (``Unavailability/endsWithPasscode``) that the same
/// alternative asks for and that can be proved.
///
/// When no alternative is possible, the answer gives one reason. An alternative is as hard as the hardest of its
/// missing and unavailable factors, because all of them would have to change. The reason comes from the easiest
/// alternative (in the order of ``Unavailability``, then of ``Factor``).
///
/// - Parameters:
///   - requirement: The operation's requirement; nil when the operation is not permitted at all.
///   - held: The factors that were proved and are still kept.
///   - available: The factors that could be proved now.
///   - unlock: The state of the object's class key; ``UnlockState/open`` for an operation that does not need the access
///     secret. With ``UnlockState/needsPasscode`` every alternative asks for the passcode too, so that a finger proved
///     before a lock opens nothing after it.
public func plan(
    _ requirement: Requirement?, held: FactorSet, available: FactorAvailability, unlock: UnlockState
) -> Plan {
    guard let requirement else { return .impossible(.operationNotPermitted) }
    switch unlock {
    case .open, .needsPasscode: break
    case .closed: return .impossible(.locked)
    case .withoutClassKey: return .impossible(.withoutClassKey)
    }
    let demands = requirement.demands(unlock)
    if let satisfied = demands.first(where: held.satisfies) { return .satisfied(by: satisfied) }

    var provable: [FactorSet] = []
    var obstacles: [Obstacle] = []
    for missing in demands.map({ $0.missing(from: held) }) {
        if let hardest = missing.factors.compactMap({ Obstacle($0, in: missing, available) }).max() {
            obstacles.append(hardest)
        } else {
            provable.append(missing)
        }
    }
    // A requirement is never empty, so without an obstacle there is something to prove.
    guard provable.isEmpty, let easiest = obstacles.min() else { return .needs(FactorSet.minimal(provable)) }
    return .impossible(.unavailable(easiest.factor, easiest.reason))
}

extension Requirement {
    /// What each alternative asks for together with the class key.
    fileprivate func demands(_ unlock: UnlockState) -> [FactorSet] {
        unlock == .needsPasscode ? FactorSet.minimal(alternatives.map { $0.union(.passcode) }) : alternatives
    }

    /// Every factor that a plan may ask for. The availability of others plays no part in it.
    public func factors(while unlock: UnlockState) -> FactorSet { FactorSet(demands(unlock)) }
}

/// A factor that is missing and cannot be proved now.
private struct Obstacle: Comparable {
    let factor: Factor
    let reason: Unavailability

    /// Nil when the factor is available, or will be once the passcode is proved that is `missing` too.
    init?(_ factor: Factor, in missing: FactorSet, _ available: FactorAvailability) {
        guard case .unavailable(let reason) = available[factor] else { return nil }
        let comesWithPasscode = missing.contains(.passcode) && available[.passcode] == .available
        guard !(reason.endsWithPasscode && comesWithPasscode) else { return nil }
        self.factor = factor
        self.reason = reason
    }

    static func < (left: Obstacle, right: Obstacle) -> Bool {
        (left.reason, left.factor) < (right.reason, right.factor)
    }
}
