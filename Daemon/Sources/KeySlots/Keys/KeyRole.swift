public import AccessControl

/// The factor or class that a key pair stands for. Application passwords have no role, because they make a symmetric
/// key per object.
public enum KeyRole: Hashable, Sendable {
    /// The state of the machine; in every slot.
    case classKey(AvailabilityClass)
    case passcode
    /// Both biometric factors: the enrolled set is bound as associated data, it does not have a key of its own.
    case biometry
    case securityKey

    /// The role's byte in encodings and associated data; never reused for another role.
    public var code: UInt8 {
        switch self {
        case .passcode: 0x01
        case .biometry: 0x02
        case .securityKey: 0x03
        case .classKey(let availability): 0x10 | availability.rawValue
        }
    }

    /// The role with this byte code; nil for an unknown one.
    public init?(code: UInt8) {
        switch code {
        case 0x01: self = .passcode
        case 0x02: self = .biometry
        case 0x03: self = .securityKey
        case 0x10...0x1f:
            guard let availability = AvailabilityClass(rawValue: code & 0x0f) else { return nil }
            self = .classKey(availability)
        default: return nil
        }
    }
}
