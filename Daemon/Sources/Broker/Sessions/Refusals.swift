import Authenticators
import OstiaryWire
import Prompting

/// The refusals that several places give, in one wording.
enum Refusals {
    static func lockedOut(_ remaining: Duration) -> Refusal {
        Refusal(
            .lockedOut, "Too many wrong tries. Try again in \(readable(remaining)).", retryAfter: remaining,
            cause: "passcode.locked-out")
    }

    static let passcodeNotSet = Refusal(
        .passcodeNotSet, "No passcode is set; set one with `ostiary passcode set`.", cause: "passcode.not-set")

    static let passcodeAlreadySet = Refusal(
        .passcodeAlreadySet, "A passcode is set already; use `ostiary passcode change`.", cause: "passcode.already-set")

    static let passcodeNeeded = Refusal(.notAuthorized, "The passcode is needed for this.", cause: "passcode.needed")

    static let emptyPassword = Refusal(
        .invalidParameter, "A password has at least one byte.", cause: "credential.empty")

    static let passwordTooLong = Refusal(
        .invalidParameter, "A password has at most \(PasscodePolicy.maximumByteCount) bytes.", cause: "credential.size")

    static let notInteractive = Refusal(
        .notInteractive, "A question to the person is needed, and there is no terminal or dialog to ask on, or asking "
            + "was not allowed. Run it in a terminal or name a pinentry in ostiaryd.conf.", cause: "prompt.not-interactive")

    static let questionNeeded = Refusal(
        .questionNeeded, "Somebody has to be asked; send the request again with the question.", cause: "question.needed")

    static let removedMeanwhile = Refusal(
        .notFound, "It was removed while its password was asked for.", cause: "object.removed")

    static let locked = Refusal(.locked, "The store is locked; open it with `ostiary unlock`.", cause: "store.locked")

    static let keysChanged = Refusal(
        .systemCancel, "The passcode was changed or the store was locked meanwhile; try again.", cause: "keys.changed")

    static func programChanged(_ path: String) -> Refusal {
        Refusal(
            .programChanged, "The program's file is not the one that was registered, so it is another program. If you "
                + "rebuilt or upgraded it yourself: ostiary app adopt \(DisplayText(fact: path).string)", cause: "program.changed")
    }

    static let objectsChanged = Refusal(
        .systemCancel, "Something that is bound to the passcode was made after the warning, which does not name it. Nothing "
            + "was removed; try again.", cause: "keys.changed")

    static func unreadableItem(_ what: String) -> Refusal {
        Refusal(
            .itemUnreadable, "\(what) does not verify and is refused; `ostiary doctor` says more. Nothing of it is used.",
            cause: "item.unreadable")
    }

    /// "4 min 10 s", rounded up to the second.
    static func readable(_ duration: Duration) -> String {
        let seconds = Int((duration / .seconds(1)).rounded(.up))
        let parts = [(seconds / 3600, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s")]
        let text = parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: " ")
        return text.isEmpty ? "0 s" : text
    }
}
