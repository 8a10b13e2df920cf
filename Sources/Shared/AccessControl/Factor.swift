/// One way of showing that the right person is present.
///
/// Raw values are stored and sent; they never change their meaning.
public enum Factor: UInt8, CaseIterable, Sendable {
    /// The passcode that the owner set.
    case passcode = 1
    /// Any enrolled biometric feature (`.biometryAny`).
    case biometry = 2
    /// A biometric feature of the set that was enrolled when the object was made (`.biometryCurrentSet`).
    case biometryCurrentSet = 3
    /// An enrolled FIDO2 security key; stands where Apple's systems have a companion.
    case securityKey = 4
    /// A password that the program supplies (`.applicationPassword`).
    case applicationPassword = 5

    /// The factor's name in rules, logs and messages, for example `security-key`.
    public var name: String {
        switch self {
        case .passcode: "passcode"
        case .biometry: "biometry"
        case .biometryCurrentSet: "biometry-current-set"
        case .securityKey: "security-key"
        case .applicationPassword: "application-password"
        }
    }

    /// The factor called `name`, exactly as ``name`` spells it; nil for anything else.
    public init?(name: some StringProtocol) {
        guard let factor = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = factor
    }
}

extension Factor: Comparable {
    /// The order in which factors are listed and shown.
    public static func < (left: Factor, right: Factor) -> Bool { left.rawValue < right.rawValue }
}

extension Factor: CustomStringConvertible {
    /// The same as ``name``.
    public var description: String { name }
}
