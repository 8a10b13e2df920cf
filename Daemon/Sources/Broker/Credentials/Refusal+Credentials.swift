import AssociationFiles
import AuthenticatorRequests
import OstiaryMessages
import Refusals

/// Why a credential is not made or used, in words for the person and for the caller.
extension Refusal {
    static let programNotRegisteredForDomain = Refusal(
        .notAssociated,
        "The program is not registered for this domain. Register it: "
            + "ostiary app register PROGRAM --id ID --webcredentials DOMAIN",
        cause: "association.not-registered")

    static let noAuthenticator = Refusal(
        .noCredential, "Nothing that could do this is at hand.", cause: "credential.no-authenticator")

    /// nil when the domain confirms the program.
    static func association(_ verdict: AssociationVerdict) -> Refusal? {
        let (words, cause): (String, String)
        switch verdict {
        case .associated: return nil
        case .notListed: (words, cause) = ("the domain's association file does not name the program", "not-listed")
        case .notFound: (words, cause) = ("the domain has no association file", "not-found")
        case .redirected:
            (words, cause) = ("the domain's server points to another place, which is not followed", "redirected")
        case .refused: (words, cause) = ("the domain's server refuses the association file", "refused")
        case .tooLarge: (words, cause) = ("the domain's association file is larger than 128 KiB", "too-large")
        case .malformed: (words, cause) = ("the domain's association file cannot be read", "malformed")
        case .unreachable: (words, cause) = ("the domain's server cannot be reached; try again later", "unreachable")
        case .timedOut: (words, cause) = ("the domain's server did not answer in time; try again later", "timed-out")
        case .untrusted:
            (words, cause) = ("the certificate of the domain's server cannot be verified", "untrusted-certificate")
        case .helperFailed: (words, cause) = ("ostiary-association did not work; run `ostiary doctor`", "helper")
        case .unreadableFile:
            (words, cause) = (
                "the administrator's association file does not count; it must be a file of root's that nobody else may "
                    + "write to", "unreadable-file"
            )
        }
        return Refusal(
            .notAssociated, "The program may not use the domain's credentials: \(words).",
            cause: "association.\(cause)")
    }

    /// Why an authenticator made or signed nothing.
    static func credential(_ refusal: CredentialRefusal) -> Refusal {
        switch refusal {
        case .cancelled: Refusal(.userCancel, "Cancelled; nothing was done.", cause: "prompt.cancelled")
        case .timedOut: Refusal(.timedOut, "Nobody used a security key in time.", cause: "credential.timed-out")
        case .excluded:
            Refusal(
                .credentialExcluded, "The authenticator holds a credential of this account already.",
                cause: "credential.excluded")
        case .noCredential:
            Refusal(
                .noCredential, "The authenticator holds no credential for this account.", cause: "credential.none")
        case .unsupportedAlgorithm:
            failed("The authenticator knows none of the algorithms.", "unsupported-algorithm")
        case .unsupported: failed("The authenticator lacks a required feature.", "unsupported")
        case .pinNotSet: failed("The security key has no PIN, and one is required; set one.", "pin-not-set")
        case .pinBlocked:
            failed("No try of the PIN is left. Only a reset helps, which erases the security key.", "pin-blocked")
        case .lastPINTry:
            failed("One try of the PIN is left, and the person did not insist on it.", "last-pin-try")
        case .pinTemporarilyBlocked:
            failed("Too many wrong PINs in a row; unplug the security key and plug it in.", "pin-temporarily-blocked")
        case .userVerificationBlocked:
            failed("Too many fingers were not recognised by the security key.", "user-verification-blocked")
        case .storageFull: failed("The authenticator has no room for another credential.", "storage-full")
        case .removed: failed("The security key was unplugged meanwhile; try again.", "removed")
        case .malformedAnswer: malformedAnswer
        case .helperFailed:
            failed("The program that speaks to security keys did not work; run `ostiary doctor`.", "helper")
        case .refused(let status):
            failed("The authenticator refused with status \(status).", "refused-\(status)")
        }
    }

    static let malformedAnswer = Refusal(
        .invalidAuthenticatorAnswer, "The authenticator's answer breaks its specification.",
        cause: "credential.malformed-answer")

    private static func failed(_ words: String, _ cause: String) -> Refusal {
        Refusal(.authenticatorFailed, words, cause: "credential.\(cause)")
    }
}
