import AuthenticatorRequests
import SecurityKeyProtocol

/// How one key is asked. Its abilities decide it.
enum KeyPlan: Equatable {
    /// The key does it with a touch, or verifies the person by itself.
    case ask(KeyRequest)
    /// As ``ask(_:)``, with the key's PIN.
    case askWithPIN(KeyRequest)
    /// As ``askWithPIN(_:)``; the key has no PIN yet.
    case askWithNewPIN(KeyRequest)
    case refuse(CredentialRefusal)

    /// Puts user verification into a request.
    ///
    /// - Parameters:
    ///   - verification: the wish of the relying party.
    ///   - isNeeded: whether the key does nothing without it, once it has a way to verify.
    ///   - request: makes the request; the argument says whether the key verifies the person by itself.
    init(
        _ description: KeyDescription, _ verification: Preference, isNeeded: Bool,
        _ request: (_ verifiesUser: Bool) -> KeyRequest
    ) {
        let features = description.features
        let canVerify = features.contains(.verifiesUser) && description.verificationTries != 0
        if canVerify, verification != .discouraged || isNeeded {
            self = .ask(request(true))
        } else if features.contains(.hasPIN), verification != .discouraged || isNeeded {
            self = .askWithPIN(request(false))
        } else if verification == .required || features.contains(.alwaysVerifies) {
            self =
                features.contains(.supportsPIN)
                ? .askWithNewPIN(request(false)) : .refuse(.unsupported(what: "userVerification"))
        } else {
            self = .ask(request(false))
        }
    }

    /// The same with the PIN, for a key that does not verify by itself any more.
    func withPIN() -> KeyPlan {
        switch self {
        case .ask(.create(var creation)):
            creation.verifiesUser = false
            return .askWithPIN(.create(creation))
        case .ask(.assert(var assertion)):
            assertion.verifiesUser = false
            return .askWithPIN(.assert(assertion))
        default: return self
        }
    }

    var request: KeyRequest? {
        switch self {
        case .ask(let request), .askWithPIN(let request), .askWithNewPIN(let request): request
        case .refuse: nil
        }
    }

    var verifiesUser: Bool {
        switch self {
        case .ask(.create(let creation)): creation.verifiesUser
        case .ask(.assert(let assertion)): assertion.verifiesUser
        default: false
        }
    }
}
