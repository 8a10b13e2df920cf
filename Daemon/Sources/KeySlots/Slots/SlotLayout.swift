import AccessControl

/// The layers of a slot and their order. No other code decides this.
///
/// From the inside out: application password, security key, biometry, passcode, class. The layer that is renewed most
/// often lies outermost, so that renewing it needs no key of a layer further in. The application password lies
/// innermost, because it is guessable: only an attacker with every other key of the slot can check a guess.
enum SlotLayout {
    /// The roles of the layers with key pairs, innermost first. The password's layer, where there is one, lies inside.
    static func roles(for factors: FactorSet, availability: AvailabilityClass) -> [KeyRole] {
        var roles: [KeyRole] = []
        if factors.contains(.securityKey) { roles.append(.securityKey) }
        if factors.contains(.biometry) || factors.contains(.biometryCurrentSet) { roles.append(.biometry) }
        if factors.contains(.passcode) { roles.append(.passcode) }
        return roles + [.classKey(availability)]
    }

    /// Whether a slot can stand for these factors. They must be known, and must not contain both kinds of biometry,
    /// because one contains the other.
    static func isPermitted(_ factors: FactorSet) -> Bool {
        factors.isSubset(of: .all) && !factors.isSuperset(of: [.biometry, .biometryCurrentSet])
    }
}
