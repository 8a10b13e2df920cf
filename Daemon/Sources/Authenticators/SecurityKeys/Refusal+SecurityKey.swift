package import AuthenticatorRequests
import OstiaryMessages
package import Refusals

extension Refusal {
    /// Why a security key proved nothing as a factor.
    package init(ofFactor refusal: CredentialRefusal) {
        switch refusal {
        case .cancelled: self.init(.userCancel, "Cancelled; nothing was done.", cause: "prompt.cancelled")
        case .timedOut: self.init(.timedOut, "Nobody touched a security key in time.", cause: "security-key.timed-out")
        case .noCredential:
            self.init(
                .authenticationFailed, "The security key is not enrolled here. Use an enrolled one.",
                cause: "security-key.wrong")
        case .excluded:
            self.init(.duplicate, "This security key is enrolled already.", cause: "security-key.enrolled")
        case .unsupported(let what):
            self.init(
                .companionNotAvailable, "The security key cannot serve as a factor: it lacks \(what).",
                cause: "security-key.unsupported")
        case .removed:
            self.init(
                .companionNotAvailable, "The security key was unplugged. Plug it in and try again.",
                cause: "security-key.removed")
        case .pinBlocked:
            self.init(
                .companionNotAvailable,
                "The security key accepts no PIN any more. Only a reset helps, which erases it; remove it here, and enrol it again.",
                cause: "security-key.blocked")
        case .lastPINTry:
            self.init(
                .companionNotAvailable,
                "One try of the security key's PIN is left, and you did not insist on it. Try again when you know the PIN.",
                cause: "security-key.last-pin-try")
        case .pinTemporarilyBlocked, .userVerificationBlocked:
            self.init(
                .companionNotAvailable,
                "The security key accepts no more tries now. Unplug it, plug it in and try again.",
                cause: "security-key.blocked-until-unplugged")
        case .helperFailed:
            self.init(
                .companionNotAvailable,
                "The program that speaks to security keys did not work. Try again; `ostiary doctor` says more.",
                cause: "security-key.helper")
        case .pinNotSet:
            self.init(
                .companionNotAvailable, "The security key has no PIN. Set one with `ostiary security-key pin`.",
                cause: "security-key.pin-not-set")
        default:
            self.init(
                .companionNotAvailable, "The security key failed. Try again, or use another one.",
                cause: "security-key.failed")
        }
    }
}
