package import CommandFailures
import Glibc
package import OstiaryClient
import UnixSocket

/// Why a door could not do its work: what happened, why, and what to do. Never a secret.
///
/// Two failures are equal when their codes are.
package struct DoorFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// A stable number: positive from the daemon, negative from a client. Documentation/command.md lists those of doors.
    package let code: Int
    package let failureClass: FailureClass
    package let explanation: String
    package let retryAfter: Duration?
    /// Of what Ostiary answered; empty when there is none.
    package let cause: String

    package init(_ code: Int, _ failureClass: FailureClass, _ explanation: String, cause: String = "") {
        (self.code, self.failureClass, self.explanation) = (code, failureClass, explanation)
        (retryAfter, self.cause) = (nil, cause)
    }

    /// What Ostiary answered.
    package init(_ error: OstiaryError) {
        (code, failureClass) = (error.code.rawValue, error.code.failureClass)
        (explanation, retryAfter, cause) = (error.description, error.retryAfter, error.cause)
    }

    /// Any error of a call: those of ``OstiaryClient`` and of this module keep their numbers.
    package init(any error: any Error) {
        switch error {
        case let failure as DoorFailure: self = failure
        case let error as OstiaryError: self.init(error)
        default: self.init(FailureDocument.unclassified, .unknown, "\(error)")
        }
    }

    package var exitStatus: ExitStatus { failureClass.exitStatus }
    package var description: String { explanation }

    package static func == (left: DoorFailure, right: DoorFailure) -> Bool { left.code == right.code }

    // MARK: those of this module

    /// The codes of a client that has ended, belongs to somebody else, or cannot be named.
    package static let areOfClient = [-153, -154, -155, -156, -157]

    /// Somebody serves the door's socket already.
    static func inUse(_ path: String) -> DoorFailure {
        DoorFailure(
            -150, FailureClass("doorInUse", .failed),
            "Another process serves \(path) already. Use that one, or end it and start again.")
    }

    /// Something else than this user's socket lies where the door's socket belongs.
    static func foreign(_ path: String) -> DoorFailure {
        DoorFailure(
            -151, FailureClass("doorForeign", .failed),
            "\(path) is no socket of this user, and nothing of others is replaced. Look at it, remove it, and start again."
        )
    }

    /// The folder, the socket or what the service manager passed cannot be used, or the system does not give what a door needs.
    package static func unusable(_ explanation: String) -> DoorFailure {
        DoorFailure(-152, FailureClass("doorUnusable", .failed), explanation)
    }

    /// A call of the system for the socket failed.
    static func unusable(_ error: SystemCallError) -> DoorFailure {
        unusable("The door cannot be served: \(error). `ostiary doors` says more.")
    }

    /// The client has gone, or its connection cannot be used.
    static func gone(_ cause: String) -> DoorFailure {
        DoorFailure(
            -153, FailureClass("clientGone", .failed), "The client has gone (\(cause)); nothing was done for it.")
    }

    /// A client cannot be looked at now.
    static let full = DoorFailure(
        -158, FailureClass("doorFull", .failed),
        "The door has as many open files as it may have, so the program could not be looked at. Try again later, or end other programs."
    )

    /// The codes of a door that has no room for a client.
    package static let areOfShortage = [-158]

    /// The bytes of a connection come from another process or user than the one that made it.
    static let foreignSender = DoorFailure(
        -154, FailureClass("foreignSender", .refused),
        "Another process than the one that connected used the connection. It is closed; let each process connect itself."
    )

    /// A process that belongs to another user.
    static let foreignUser = DoorFailure(
        -155, FailureClass("foreignUser", .refused),
        "A process of another user asked, and a door serves its own user alone. Run the program as this user.")

    /// A bus proxy asks for a program that nobody here can name.
    static let sandboxed = DoorFailure(
        -157, FailureClass("sandboxed", .refused),
        "The program runs in a Flatpak, where its name is only its own word, so nobody could be named in a question. Let it use the "
            + "secret portal (libsecret does so by itself in a Flatpak).")

    /// The program behind a helper is not there.
    static let noParent = DoorFailure(
        -156, FailureClass("noParent", .refused),
        "The program that started this one has ended, so nobody could be named in a question. Start it again.")
}

/// What doors write for people and programs.
package enum DoorReport {
    /// Writes `failure` to standard error: `PROGRAM: words`, or one line of JSON, and returns the exit status.
    package static func failed(_ failure: DoorFailure, program: String, json: Bool = false) -> ExitStatus {
        let document = FailureDocument(
            code: failure.code, name: failure.failureClass.name, message: failure.explanation,
            retryAfterSeconds: failure.retryAfter.map { $0 / .seconds(1) })
        if json, let line = document.line { write(line) } else { note(failure.explanation, program: program) }
        return failure.exitStatus
    }

    /// Writes `PROGRAM: text` to standard error.
    package static func note(_ text: String, program: String) { write("\(program): \(text)") }

    private static func write(_ text: String) {
        let line = text + "\n"
        // Nobody can be told that standard error takes nothing.
        _ = unsafe Glibc.write(STDERR_FILENO, line, line.utf8.count)
    }
}
