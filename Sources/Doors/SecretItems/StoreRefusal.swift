import DoorSupport
import OstiaryClient
import OstiaryMessages

/// Why Ostiary did not do what a program asked the Secret Service for. The words say what happened and what to do, and hold no secret.
public enum StoreRefusal: Error, Equatable, Sendable {
    /// The store is locked, and nobody was to be asked.
    case locked
    /// The item's rule wants a proof, and nobody was to be asked.
    case needsQuestion
    /// There is no such item.
    case notFound
    /// The program may not do this, whatever the person proves.
    case notPermitted(String)
    /// The person cancelled, or did not prove what is needed.
    case declined(String)
    /// The question was taken away.
    case cancelled
    /// It is too large, or too many of them.
    case tooMuch(String)
    /// The request makes no sense.
    case invalid(String)
    /// The owner has neither a passcode nor a finger to prove.
    case nothingToProve
    /// The program has ended, or cannot be named.
    case noClient(String)
    case failed(String)

    /// Any error of a call.
    init(any error: any Error) {
        switch error {
        case let refusal as StoreRefusal: self = refusal
        case let failure as DoorFailure: self = Self.refusal(of: failure.code, failure.explanation)
        case let error as OstiaryError: self = Self.refusal(of: error.code.rawValue, error.description)
        default: self = .failed("\(error)")
        }
    }

    private static func refusal(of code: Int, _ words: String) -> StoreRefusal {
        // Those of this process have negative codes.
        guard let failure = WireFailureCode(rawValue: code) else {
            guard !DoorFailure.areOfShortage.contains(code) else { return .tooMuch(words) }
            let isOfClient = DoorFailure.areOfClient.contains(code)
            return isOfClient ? .noClient(words) : .failed(words)
        }
        switch failure {
        case .locked: return .locked
        case .notInteractive, .questionNeeded: return .needsQuestion
        case .notFound: return .notFound
        case .appCancel, .systemCancel: return .cancelled
        case .userCancel, .userFallback, .authenticationFailed, .lockedOut, .cooldown, .timedOut, .biometryLockout,
            .companionNotAvailable:
            return .declined(words)
        case .tooMany, .tooLarge: return .tooMuch(words)
        case .invalidParameter, .noSuchAttribute, .noSuchClass, .malformed, .invalidRule, .emptyReason:
            return .invalid(words)
        case .passcodeNotSet, .biometryNotAvailable, .biometryNotEnrolled: return .nothingToProve
        case .clientChanged, .clientRefused, .callerChanged: return .noClient(words)
        case .notAuthorized, .operationNotPermitted, .missingEntitlement, .notPermitted, .programChanged,
            .programUnverified:
            return .notPermitted(words)
        default: return .failed(words)
        }
    }

}

extension StoreRefusal: CustomStringConvertible {
    public var description: String {
        switch self {
        case .locked: "The store is locked. Unlock it, and try again."
        case .needsQuestion: "The person must be asked, and this call asks nobody."
        case .notFound: "There is no such item."
        case .cancelled: "The question was taken away before it was answered."
        case .nothingToProve: "The owner has neither a passcode nor a finger to prove. Set a passcode."
        case .notPermitted(let words), .declined(let words), .tooMuch(let words), .invalid(let words),
            .noClient(let words), .failed(let words):
            words
        }
    }
}
