import Enclave

/// Why the chip did not do its work.
enum ChipFault: Error, Equatable {
    /// The chip, or a layer on the way to it, answered with this code.
    case response(ResponseCode)
    /// The chip does not know our sessions, handles or contexts any more, as after its restart. A new connection helps.
    case forgotten(ResponseCode)
    /// No storage key of this TPM has the name that the store was made with.
    case otherStorageKey
    /// The chip refuses the object: it is damaged, or made by another chip or under another parent.
    case foreignObject
    /// The authorization value of an object is wrong; the session is in order.
    case wrongAuthorization
    /// The approval is not one of this signature.
    case notApproved
    /// The index has counted too many wrong passcodes.
    case passcodeBlocked
    /// The index has counted wrong passcodes since the entry whose proof is used.
    case passcodeTriedMeanwhile
    /// Another index took the place of the passcode's one while that was made.
    case indexExchanged
    /// The object lies below the passcode, and nobody brought it.
    case passcodeNeeded
    /// The chip's owner hierarchy has a password, and the request has none.
    case ownerPassword
    /// The password of the request is not that of the owner hierarchy.
    case wrongOwnerPassword
    /// The chip has no endorsement certificate where it belongs.
    case endorsementMissing
    /// The answer is not the one that the request calls for.
    case malformedAnswer

    /// Whether the same request may succeed on a new connection.
    var mayEndWithNewConnection: Bool {
        switch self {
        case .forgotten: true
        case .response(let code): !code.isOfChip
        case .otherStorageKey, .foreignObject, .wrongAuthorization, .notApproved, .passcodeBlocked,
            .passcodeTriedMeanwhile, .indexExchanged, .passcodeNeeded, .ownerPassword, .wrongOwnerPassword,
            .endorsementMissing, .malformedAnswer:
            false
        }
    }

    /// Whether a request that failed in a key's own connection may succeed in the common one. The chip's verdict would be the same
    /// there.
    var mayEndInCommonConnection: Bool {
        switch self {
        case .response, .forgotten: true
        default: false
        }
    }

    /// - Parameter lockoutInterval: after how long the chip forgets one wrong try.
    func enclaveError(lockoutInterval: () -> Duration) -> EnclaveError {
        switch self {
        case .response(let code) where code.isLockout: .lockedOut(remaining: lockoutInterval())
        case .response(let code) where code.isObjectMemory: .slotsTaken(.objects)
        case .response(let code) where code.isSessionMemory: .slotsTaken(.sessions)
        case .response(let code), .forgotten(let code): .unavailable(code: code.value)
        case .otherStorageKey: .deviceLost
        case .foreignObject: .unreadable
        case .wrongAuthorization: .refused
        case .notApproved: .notApproved
        case .passcodeBlocked: .passcodeBlocked
        case .passcodeTriedMeanwhile: .passcodeTriedMeanwhile
        case .indexExchanged: .passcodeIndexExchanged
        case .passcodeNeeded: .passcodeNeeded
        case .ownerPassword: .ownerPassword
        case .wrongOwnerPassword: .wrongOwnerPassword
        case .endorsementMissing: .endorsementMissing
        case .malformedAnswer: .unavailable(code: 0)
        }
    }
}
