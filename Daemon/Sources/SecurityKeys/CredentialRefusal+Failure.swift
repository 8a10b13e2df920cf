import AuthenticatorRequests
import SecurityKeyProtocol

extension CredentialRefusal {
    /// The refusal for a failure of a key (CTAP 2.1, 8.2; negative codes are libfido2's, fido/err.h).
    init(_ failure: KeyFailure) {
        guard !failure.isGone else {
            self = .removed
            return
        }
        switch failure.code {
        case 0x05, 0x2F, 0x3A: self = .timedOut
        case 0x11, 0x12, 0x14: self = .malformedAnswer
        case 0x16: self = .unsupported(what: "extension")
        case 0x18, 0x28: self = .storageFull
        case 0x19: self = .excluded
        case 0x22, 0x2E: self = .noCredential
        case 0x26: self = .unsupportedAlgorithm
        case 0x27, 0x2D: self = .cancelled
        case 0x2B, 0x2C: self = .unsupported(what: "option")
        case 0x32: self = .pinBlocked
        case 0x34: self = .pinTemporarilyBlocked
        case 0x35: self = .pinNotSet
        case 0x3C: self = .userVerificationBlocked
        // Of libfido2: its message did not arrive, it received something that is no answer, or no answer came.
        case ..<0: self = .malformedAnswer
        case let code: self = .refused(status: UInt8(clamping: code))
        }
    }
}
