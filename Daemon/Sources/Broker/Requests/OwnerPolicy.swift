import AccessControl
import Authenticators
import OstiaryMessages
import PromptProtocol
import Refusals

/// The policies that an `LAContext` evaluates, by the numbers of Apple's `LAPolicy`.
enum OwnerPolicy: Int32 {
    case biometrics = 1
    case owner = 2
    case companion = 3
    case biometricsOrCompanion = 4

    /// `deviceOwnerAuthenticationWithWristDetection`.
    private static let wristDetection: Int32 = 5

    init(number: Int32) throws(Refusal) {
        guard number != Self.wristDetection else {
            throw Refusal(
                .companionNotAvailable, "The policy needs a watch that stayed on the wrist; there is none here.",
                cause: "companion.no-wrist-detection")
        }
        guard let policy = Self(rawValue: number) else {
            throw Refusal(.invalidParameter, "The policy is unknown.", cause: "policy.unknown")
        }
        self = policy
    }

    /// Any of these satisfies it.
    private var sets: [FactorSet] {
        switch self {
        case .biometrics: [.biometry]
        case .owner: [.biometry, .passcode]
        case .companion: [.securityKey]
        case .biometricsOrCompanion: [.biometry, .securityKey]
        }
    }

    var acceptsBiometry: Bool { sets.contains(.biometry) }

    /// Whether something besides biometry can satisfy it without a passcode.
    var acceptsCompanion: Bool { sets.contains(.securityKey) }

    func demand() throws(Refusal) -> Demand {
        let requirement: Requirement
        do { requirement = try Requirement(anyOf: sets) } catch { throw Refusal(.internal, "\(error)") }
        var demand = Demand(
            requirements: [requirement], availability: nil, object: "", operation: "confirm that it is you")
        // A policy without the passcode leaves it to the program what comes instead of a sensor.
        if !sets.contains(.passcode) { demand.usualFallback = DisplayText("Use Passcode…") }
        return demand
    }
}
