import CommandFailures
import DoorSupport
import OstiaryMessages
public import UnixSocket

/// Why a command of the owner's did not do its work: what happened, why, and what to do. Never a secret.
///
/// Two failures are equal when their codes are.
public struct SecretsFailure: Error, Equatable, Sendable, CustomStringConvertible {
    private let failure: DoorFailure

    private init(_ failure: DoorFailure) { self.failure = failure }

    private init(_ code: Int, _ name: String, _ explanation: String, _ status: ExitStatus = .failed) {
        self.init(DoorFailure(code, FailureClass(name, status), explanation))
    }

    /// Any error of a call: the daemon's keep their numbers.
    init(any error: any Error) { self.init(DoorFailure(any: error)) }

    /// A stable number: positive from the daemon. Documentation/command.md lists those of commands.
    public var code: Int { failure.code }
    /// The exit status of the command.
    public var status: Int32 { failure.exitStatus.rawValue }
    public var description: String { failure.explanation }

    /// Writes it to standard error as `ostiary` does, and returns the exit status.
    public func report(asJSON: Bool) -> Int32 {
        DoorReport.failed(failure, program: DoorProgram.command.name, json: asJSON).rawValue
    }

    /// Whether the daemon refused this one item, so that others may well be taken.
    public var isOfItem: Bool {
        let codes: [WireFailureCode] = [.malformed, .tooLarge, .invalidParameter, .invalidRule, .noSuchAttribute]
        return codes.contains { $0.rawValue == code }
    }

    // MARK: those of the commands

    /// The arguments make no sense; nothing was tried.
    public static func usage(_ explanation: String) -> SecretsFailure {
        SecretsFailure(-100, "usage", explanation, .usage)
    }

    /// A file of the session cannot be read.
    public static func unreadable(_ error: SystemCallError) -> SecretsFailure {
        SecretsFailure(-101, "unreadableInput", "A file cannot be read (\(error)); it was left as it is.")
    }

    /// Standard output or a file cannot be written.
    public static func unwritable(_ error: SystemCallError) -> SecretsFailure {
        SecretsFailure(-102, "unwritableOutput", "The output cannot be written (\(error)).")
    }

    /// The session cannot be changed as it is; the sentences say why and what to do.
    public static func setup(_ explanation: String) -> SecretsFailure { SecretsFailure(-170, "setup", explanation) }

    /// There is no message bus, or it does not answer.
    public static func withoutBus(_ explanation: String) -> SecretsFailure {
        SecretsFailure(-133, "busUnavailable", explanation)
    }

    /// No other keyring is there to import from.
    public static func withoutKeyring(_ explanation: String) -> SecretsFailure {
        SecretsFailure(-134, "keyringMissing", explanation)
    }

    /// The other keyring failed, or ended.
    public static func keyringFailed(_ explanation: String) -> SecretsFailure {
        SecretsFailure(-135, "keyringFailed", explanation)
    }

    /// Nothing of the kind is stored.
    public static func notFound(_ explanation: String) -> SecretsFailure {
        SecretsFailure(WireFailureCode.notFound.rawValue, "notFound", explanation)
    }

    /// The store is locked, and the command asks nobody.
    public static func locked(_ explanation: String) -> SecretsFailure {
        SecretsFailure(WireFailureCode.locked.rawValue, "locked", explanation, .refused)
    }

    /// A rule that is stored cannot be read.
    public static func invalidRule(_ explanation: String) -> SecretsFailure {
        SecretsFailure(WireFailureCode.invalidRule.rawValue, "invalidRule", explanation)
    }
}
