import CommandFailures
import KeyAlgorithms
import OstiaryClient
import OstiaryMessages
import Testing
import UnixSocket

@testable import ostiary

@Suite("The table from failures to exit statuses")
struct FailureTableTests {
    /// Written out once more, so that a slip in the table does not go unseen.
    static let refusals: Set<WireFailureCode> = [
        .unspecified, .notAuthorized, .authenticationFailed, .userCancel, .userFallback, .systemCancel, .appCancel,
        .notInteractive, .lockedOut, .operationNotPermitted, .callerChanged, .clientChanged, .clientRefused, .cooldown,
        .timedOut, .notPermitted,
        .biometryLockout,
        .locked,
        .missingEntitlement, .programChanged, .programUnverified, .notAssociated,
    ]

    @Test(arguments: WireFailureCode.allCases)
    func `a code of the daemon is a refusal or a failure`(code: WireFailureCode) {
        let status = OstiaryError.Code(code).failureClass.exitStatus
        #expect(status == (Self.refusals.contains(code) ? .refused : .failed))
    }

    @Test(arguments: WireFailureCode.allCases.filter { $0 != .unspecified })
    func `a code of the daemon is named after its case`(code: WireFailureCode) {
        #expect(OstiaryError.Code(code).failureClass.name == "\(code)")
    }

    @Test func `no two codes share a name`() {
        let codes = WireFailureCode.allCases.map { OstiaryError.Code($0) } + Self.connectionCodes
        #expect(Set(codes.map(\.failureClass.name)).count == codes.count)
    }

    static let connectionCodes: [OstiaryError.Code] = [
        .daemonUnavailable, .connectionLost, .foreignServer, .unexpectedAnswer, .invalidConfiguration,
    ]

    @Test(arguments: connectionCodes)
    func `a code of the connection is a failure`(code: OstiaryError.Code) {
        #expect(code.failureClass.exitStatus == .failed)
        #expect(code.failureClass.name != "unknown")
    }

    @Test(arguments: [10, 36, 49, 83, 9999, -6, Int.max, Int.min])
    func `an unknown code is a refusal`(code: Int) {
        #expect(OstiaryError.Code(rawValue: code).failureClass == FailureClass("unknown", .refused))
    }

    @Test(arguments: [
        (CommandError.usage(""), -100, CommandFailures.ExitStatus.usage),
        (.unreadableInput(.init("open", subject: "a", code: 2)), -101, .failed),
        (.noProgram(path: "a"), -101, .failed),
        (.unwritableOutput(.init("open", subject: "a", code: 2)), -102, .failed),
        (.inputTooLarge(name: "a", limit: 1), -103, .failed), (.emptySecret(name: "a"), -104, .failed),
        (.binaryToTerminal, -105, .usage), (.keyAlgorithm(.decryptionFailed), -106, .failed),
        (.ownStore("a"), -110, .refused), (.commandNotStarted(.init("execvp", subject: "a", code: 2)), -111, .failed),
        (.consentNeeded("a"), -112, .refused), (.systemMode("a"), -113, .refused), (.userMode("a"), -114, .refused),
        (.notMigrated("a"), -115, .failed),
        (.ownGroup("a"), -116, .failed),
    ])
    func `an error of the command has a stable code`(error: CommandError, code: Int, status: CommandFailures.ExitStatus)
    {
        #expect(error.code == code)
        #expect(error.failureClass.exitStatus == status)
    }

    @Test func `the statuses are the documented numbers`() {
        #expect(CommandFailures.ExitStatus.allCases.map(\.rawValue) == [0, 1, 2, 3])
    }
}
