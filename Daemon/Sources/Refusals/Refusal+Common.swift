package import AccessControl
import OstiaryMessages
import Passcodes
import PromptProtocol

/// The refusals that several places give, in one wording.
extension Refusal {
    package static func lockedOut(_ remaining: Duration) -> Refusal {
        Refusal(
            .lockedOut, "Too many wrong tries. Try again in \(readable(remaining)).", retryAfter: remaining,
            cause: "passcode.locked-out")
    }

    package static let passcodeBlocked = Refusal(
        .lockedOut,
        "So many wrong passcodes were entered in a row that the chip refuses every passcode now, even the right one. All "
            + "objects that only the passcode opens are lost. To begin again, move the state folder away.",
        cause: "passcode.blocked")
    package static let passcodeNotSet = Refusal(
        .passcodeNotSet, "No passcode is set; set one with `ostiary passcode set`.", cause: "passcode.not-set")

    package static let passcodeAlreadySet = Refusal(
        .passcodeAlreadySet, "A passcode is set already; use `ostiary passcode change`.", cause: "passcode.already-set")

    package static let passcodeNeeded = Refusal(
        .notAuthorized, "This needs the passcode; enter it when you are asked.", cause: "passcode.needed")

    package static let emptyPassword = Refusal(
        .invalidParameter, "The password is empty; it needs at least one byte.", cause: "credential.empty")

    package static let passwordTooLong = Refusal(
        .invalidParameter, "The password is too long; it may have at most \(PasscodePolicy.maximumByteCount) bytes.",
        cause: "credential.size")

    package static let notInteractive = Refusal(
        .notInteractive,
        "Nobody can be asked: the program has no terminal and there is no dialog, or it does not allow a question. "
            + "Run it in a terminal; `ostiary doctor` says why there is no dialog.",
        cause: "prompt.not-interactive")

    package static let questionNeeded = Refusal(
        .questionNeeded, "The person must be asked first; send a question with the request.", cause: "question.needed")

    package static let threadShortage = Refusal(
        .tooMany,
        "The system lets Ostiary start no more threads now. End other programs, or raise the limit of processes "
            + "(RLIMIT_NPROC, TasksMax), and try again.", cause: "thread.none")

    package static let removedMeanwhile = Refusal(
        .notFound, "The object was removed while its password was being typed.", cause: "object.removed")

    package static let locked = Refusal(
        .locked, "The store is locked; open it with `ostiary unlock`.", cause: "store.locked")

    /// A factor that is needed and cannot be proved now, for a reason that no delay ends.
    package static func unavailable(_ factor: Factor, because reason: Unavailability) -> Refusal {
        switch reason {
        case .passcodeNotSet: passcodeNotSet
        case .passcodeLockedOut: lockedOut(.zero)
        case .biometryLockout:
            Refusal(
                .biometryLockout, "Too many fingers or faces were not recognised; enter the passcode once.",
                cause: "biometry.lockout")
        case .biometryRestsUntilPasscode:
            Refusal(
                .biometryLockout,
                "Fingers and faces count only after the passcode was entered once since Ostiary started, or since the "
                    + "enrolled fingers or the service for faces changed; run `ostiary lock`, then `ostiary unlock`.",
                cause: "biometry.rests")
        case .biometrySetChanged:
            Refusal(
                .biometryNotAvailable,
                "The enrolled fingers are not those with which the object was made, so no finger opens it.",
                cause: "biometry.set-changed")
        case .biometryNotEnrolled:
            Refusal(.biometryNotEnrolled, "No finger is enrolled.", cause: "biometry.not-enrolled")
        case .biometryNotAvailable:
            Refusal(
                .biometryNotAvailable, "Biometry is not available: there is no sensor.", cause: "biometry.no-sensor")
        case .securityKeyNotEnrolled, .securityKeyNotPresent, .securityKeyUnsupported:
            Refusal(.companionNotAvailable, "No security key is enrolled.", cause: "security-key.not-enrolled")
        case .applicationPasswordUnsupported, .notOffered:
            Refusal(
                .operationNotPermitted, "The factor \(factor.name) cannot be proved here.", cause: "factor.unsupported")
        }
    }

    package static let authenticationFailed = Refusal(
        .authenticationFailed, "The passcode or password is wrong.", cause: "authentication.failed")

    package static let keysChanged = Refusal(
        .systemCancel, "The passcode was changed or the store was locked meanwhile; try again.", cause: "keys.changed")

    package static func programChanged(_ path: String) -> Refusal {
        Refusal(
            .programChanged,
            "The program's file is not the registered one, so it counts as another program. If you rebuilt or "
                + "upgraded it yourself, run: ostiary app adopt \(DisplayText(fact: path).string)",
            cause: "program.changed")
    }

    package static func programOnForeignFileSystem(_ path: String) -> Refusal {
        Refusal(
            .programUnverified,
            "The program lies in a file system of the network or of a user's, which may never answer, so its file is not read. Move it "
                + "to a disk of this machine: \(DisplayText(fact: path).string)", cause: "program.file-system")
    }

    package static func programWithoutGroup(_ path: String) -> Refusal {
        Refusal(
            .programChanged,
            "The program runs without the group that its registration names, or others can have this group. The administrator "
                + "registers it with `ostiary app register --setgid`: \(DisplayText(fact: path).string)",
            cause: "program.group")
    }

    package static func programUnreadable(_ path: String) -> Refusal {
        Refusal(
            .programUnverified,
            "The program's file cannot be read, so nobody can tell whether it is the registered one. Make it readable, and try "
                + "again: \(DisplayText(fact: path).string)", cause: "program.unreadable")
    }

    package static func programChanging(_ path: String) -> Refusal {
        Refusal(
            .programUnverified,
            "The program's file changed each time that it was read, so nobody can tell whether it is the registered one. Try "
                + "again when it is no longer written to: \(DisplayText(fact: path).string)", cause: "program.changing")
    }

    package static func registrationLost(_ path: String) -> Refusal {
        Refusal(
            .storeUnreadable,
            "The program is registered, but somebody removed or changed its registration in the store. Restore the state "
                + "folder from a backup, or register the program again: ostiary app register "
                + "\(DisplayText(fact: path).string) --id ID", cause: "application.lost")
    }

    package static let registrationsUnreadable = Refusal(
        .storeUnreadable,
        "The store's list of rights, keys and registered programs cannot be read, so nobody can tell whether the program is "
            + "registered. `ostiary doctor` says more; `ostiary doctor --repair` makes a new list.",
        cause: "application.list-unreadable")

    package static let objectsChanged = Refusal(
        .systemCancel,
        "After the warning a program made an object that is bound to the passcode. The warning did not count it, so "
            + "nothing was removed; try again.", cause: "keys.changed")

    package static func unreadableItem(_ what: String) -> Refusal {
        Refusal(
            .itemUnreadable, "\(what) does not verify, so no part of it is used; `ostiary doctor` says more.",
            cause: "item.unreadable")
    }

    /// "4 min 10 s", rounded up to the second.
    package static func readable(_ duration: Duration) -> String {
        let seconds = Int((duration / .seconds(1)).rounded(.up))
        let parts = [(seconds / 3600, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s")]
        let text = parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: " ")
        return text.isEmpty ? "0 s" : text
    }
}
