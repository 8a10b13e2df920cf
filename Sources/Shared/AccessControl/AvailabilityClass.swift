/// In which states of the machine an object can be used at all; stands for Apple's `kSecAttrAccessible…` values.
///
/// Raw values are stored and never change their meaning.
public enum AvailabilityClass: UInt8, CaseIterable, Sendable {
    /// Always, before the first unlock too.
    case always = 1
    /// Once the passcode was entered since the daemon started.
    case afterFirstUnlock = 2
    /// Only while unlocked.
    case whenUnlocked = 3
    /// Only while unlocked, and only as long as a passcode is set: removing it destroys the object's key.
    case whenPasscodeSet = 4

    /// The class's name in texts, for example `after-first-unlock`.
    public var name: String {
        switch self {
        case .always: "always"
        case .afterFirstUnlock: "after-first-unlock"
        case .whenUnlocked: "when-unlocked"
        case .whenPasscodeSet: "when-passcode-set"
        }
    }

    /// The class called `name`, exactly as ``name`` spells it; nil for anything else.
    public init?(name: some StringProtocol) {
        guard let found = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = found
    }
}

extension AvailabilityClass: CustomStringConvertible {
    /// The same as ``name``.
    public var description: String { name }
}
