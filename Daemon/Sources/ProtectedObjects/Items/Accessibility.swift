package import AccessControl

/// The values of the attribute `pdmn` (Apple's `kSecAttrAccessible…`) that an item can have. The second half of them says
/// that an item never leaves the machine, which here no item does.
package enum Accessibility: String, CaseIterable, Sendable {
    case always = "dk"
    case afterFirstUnlock = "ck"
    case whenUnlocked = "ak"
    case alwaysThisDeviceOnly = "dku"
    case afterFirstUnlockThisDeviceOnly = "cku"
    case whenUnlockedThisDeviceOnly = "aku"
    case whenPasscodeSetThisDeviceOnly = "akpu"

    package var availability: AvailabilityClass {
        switch self {
        case .always, .alwaysThisDeviceOnly: .always
        case .afterFirstUnlock, .afterFirstUnlockThisDeviceOnly: .afterFirstUnlock
        case .whenUnlocked, .whenUnlockedThisDeviceOnly: .whenUnlocked
        case .whenPasscodeSetThisDeviceOnly: .whenPasscodeSet
        }
    }

    /// The one that an access control without an attribute stands for.
    init(_ availability: AvailabilityClass) {
        self =
            switch availability {
            case .always: .always
            case .afterFirstUnlock: .afterFirstUnlock
            case .whenUnlocked: .whenUnlocked
            case .whenPasscodeSet: .whenPasscodeSetThisDeviceOnly
            }
    }
}

extension AccessControl {
    /// The same requirements and limits in another class.
    func moved(to availability: AvailabilityClass) throws(AccessControlError) -> AccessControl {
        var requirements: [Operation: Requirement] = [:]
        for operation in operations { requirements[operation] = self[operation] }
        return try AccessControl(availability: availability, requirements: requirements, limits: limits)
    }
}
