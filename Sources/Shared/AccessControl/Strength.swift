/// The strength of a factor's proof, weakest first. The raw value is the label in texts, logs and messages.
public enum Strength: String, CaseIterable, Sendable {
    /// A touch of a security key that does not verify who touches it.
    case touchOnly = "touch-only"
    /// A check of the broker: no key is missing without the factor.
    case brokerBound = "broker-bound"
    /// Without the factor a key cannot be computed.
    case keyBound = "key-bound"
    /// As key-bound, and the key is kept and guarded by a chip.
    case hardwareBound = "hardware-bound"
}

extension Strength: Comparable {
    /// The weaker one is less.
    public static func < (left: Strength, right: Strength) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .touchOnly: 0
        case .brokerBound: 1
        case .keyBound: 2
        case .hardwareBound: 3
        }
    }
}

extension Strength: CustomStringConvertible {
    /// The label, for example `key-bound`.
    public var description: String { rawValue }
}

extension Factor {
    /// The usual label of this factor where the enclave is a chip (`inHardware`) or software. A proof carries its own, which
    /// the authenticator gives: ``Strength/touchOnly``, for one, depends on the security key at hand.
    ///
    /// A fingerprint is a statement by the fingerprint service, not a secret from the sensor: broker-bound either way.
    public func strength(inHardware: Bool) -> Strength {
        switch self {
        case .biometry, .biometryCurrentSet: .brokerBound
        case .passcode, .securityKey, .applicationPassword: inHardware ? .hardwareBound : .keyBound
        }
    }
}
