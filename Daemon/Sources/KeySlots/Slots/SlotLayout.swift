import AccessControl

/// Which layers a slot has, and in which order: the one place that says so.
///
/// From the inside out: application password, security key, biometry, passcode, class. What is renewed most often lies
/// outermost, so that renewing it needs no key of a layer further in. The application password lies innermost: it is
/// guessable, and a guess can be checked only by whoever already has every other key of the slot.
enum SlotLayout {
    /// The roles of the layers with key pairs, innermost first. The password's layer, where there is one, lies inside.
    static func roles(for factors: FactorSet, availability: AvailabilityClass) -> [KeyRole] {
        var roles: [KeyRole] = []
        if factors.contains(.securityKey) { roles.append(.securityKey) }
        if factors.contains(.biometry) || factors.contains(.biometryCurrentSet) { roles.append(.biometry) }
        if factors.contains(.passcode) { roles.append(.passcode) }
        return roles + [.classKey(availability)]
    }

    /// Whether a slot can stand for these factors: known ones, and not both kinds of biometry, of which one contains
    /// the other.
    static func isPermitted(_ factors: FactorSet) -> Bool {
        factors.isSubset(of: .all) && !factors.isSuperset(of: [.biometry, .biometryCurrentSet])
    }
}
