/// Chooses what the person is asked for next: the factors that one question offers together, in the order in which it shows
/// them. Proving any one of them leads on.
///
/// Of each alternative, one factor is next. The question offers the next factors of all alternatives, so that no way is
/// hidden: `biometry or passcode` offers both at once, `passcode and biometry` one after the other.
///
/// Within an alternative as between them, the order is: biometry, security key, passcode, application password.
/// - What costs the person least comes first: a touch before typing.
/// - The passcode opens the store, so nobody enters it for something that a finger would have refused anyway.
/// - Biometry that rests until the passcode was entered comes after it.
/// - One sensor looks for a finger of the current set or for any finger, not for both. The current set comes first; an
///   alternative that any finger serves then waits for its other factor.
/// - The application password is checked by a slot's innermost layer, which needs the keys of all others.
///
/// - Parameters:
///   - alternatives: the sets that ``Plan/needs(_:)`` names. Each can be proved as a whole, so nobody is asked for one thing
///     while another needed one is out of reach.
///   - available: what could be proved now, as the plan was told.
/// - Returns: distinct factors that are available, at least one for each alternative; empty for no alternatives.
public func offer(_ alternatives: [FactorSet], available: FactorAvailability) -> [Factor] {
    var order = Factor.orderOfAsking.filter { available[$0] == .available }
    let asksForCurrentSet = alternatives.contains { $0.contains(.biometryCurrentSet) }
    if asksForCurrentSet && order.contains(.biometryCurrentSet) { order.removeAll { $0 == .biometry } }
    let next = Set(alternatives.compactMap { alternative in order.first { alternative.contains(FactorSet($0)) } })
    return order.filter(next.contains)
}

extension Factor {
    /// The order in which factors are asked for.
    fileprivate static let orderOfAsking: [Factor] = [
        .biometryCurrentSet, .biometry, .securityKey, .passcode, .applicationPassword,
    ]
}
