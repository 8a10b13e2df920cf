/// The factors of an access control (Apple's `SecAccessControlCreateFlags`, SecAccessControl.h). The numbers are
/// Apple's.
public struct SecAccessControlCreateFlags: OptionSet, Hashable, Sendable {
    public let rawValue: CFOptionFlags

    public init(rawValue: CFOptionFlags) {
        self.rawValue = rawValue
    }

    /// Biometry, or the passcode. Survives changes of the enrolled set.
    public static let userPresence = SecAccessControlCreateFlags(rawValue: 1 << 0)
    /// Biometry. Survives changes of the enrolled set.
    public static let biometryAny = SecAccessControlCreateFlags(rawValue: 1 << 1)
    /// Biometry of the set that is enrolled when the object is made; dead once the set changes.
    public static let biometryCurrentSet = SecAccessControlCreateFlags(rawValue: 1 << 3)
    /// The passcode.
    public static let devicePasscode = SecAccessControlCreateFlags(rawValue: 1 << 4)
    /// A companion; here an enrolled security key stands in its place.
    public static let companion = SecAccessControlCreateFlags(rawValue: 1 << 5)
    /// Any one of the constraints is enough.
    public static let or = SecAccessControlCreateFlags(rawValue: 1 << 14)
    /// Every constraint has to hold, which is so without this flag too.
    public static let and = SecAccessControlCreateFlags(rawValue: 1 << 15)
    /// The constraints hold for the private operations of an enclave key.
    public static let privateKeyUsage = SecAccessControlCreateFlags(rawValue: 1 << 30)
    /// A password of the program's own besides.
    public static let applicationPassword = SecAccessControlCreateFlags(rawValue: 1 << 31)

    /// The older name of ``biometryAny``.
    public static let touchIDAny = biometryAny
    /// The older name of ``biometryCurrentSet``.
    public static let touchIDCurrentSet = biometryCurrentSet
    /// The older name of ``companion``.
    public static let watch = companion
}

extension SecAccessControlCreateFlags {
    /// The flags that ask a person for something, in the order of their numbers.
    static let constraints: [SecAccessControlCreateFlags] = [
        .userPresence, .biometryAny, .biometryCurrentSet, .devicePasscode, .companion,
    ]

    /// Refuses combinations that mean nothing. Unknown bits pass, as with Apple.
    func validate() throws(StatusError) {
        guard !isSuperset(of: [.or, .and]) else {
            throw .parameter("“or” and “and” exclude each other.")
        }
        guard !isSuperset(of: [.biometryAny, .biometryCurrentSet]) else {
            throw .parameter("“biometryAny” and “biometryCurrentSet” exclude each other.")
        }
        let others: SecAccessControlCreateFlags = [
            .biometryAny, .biometryCurrentSet, .devicePasscode, .companion, .or, .and,
        ]
        guard !contains(.userPresence) || isDisjoint(with: others) else {
            throw .parameter("“userPresence” combines only with “applicationPassword” and “privateKeyUsage”.")
        }
    }
}
