import ArgumentParser
import CommandFailures
import DetachedThreads
import DoorSupport
import Foundation
import Glibc
import OstiaryClient
import PKCS11Door
import UnixSocket

/// `ostiary-pkcs11d`: keys and certificates for programs that load `libostiary-pkcs11.so`.
package enum TokenProgram {
    /// The whole program. Returns when its work is done.
    package static func main() {
        DoorProgram.begin()
        Program.main(nil)
    }
}

struct Program: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: DoorProgram.pkcs11.name,
        abstract: "Keys and certificates for programs that use PKCS #11.",
        discussion: """
            Programs load libostiary-pkcs11.so, which connects here and starts this program where nobody serves. It serves the \
            socket of its systemd unit, or $XDG_RUNTIME_DIR/ostiary/pkcs11.sock.

            Shown are the rights and keys of the group \(DoorProgram.accessGroup) that are not for SSH alone, keys that were \
            imported with `ostiary ssh import --permit-unknown`, and certificates of the group.

            Exit status: 0 done, 1 failed, 3 refused, 64 wrong usage.
            """)

    @Flag(help: "Serve in the background, and end when programs can connect.") var detach = false
    @Flag(help: "Print an error as JSON, on standard error.") var json = false

    /// Of a process in the background: standard error says why it cannot serve, and is given up when it can.
    @Flag(help: .private) var reportsReadiness = false

    func run() throws {
        do throws(DoorFailure) {
            if detach { return try Background.start() }
            let signals = try DoorSignals()
            let listener = try DoorListener.open(Self.socket)
            if reportsReadiness { Background.reportReadiness() }
            let isWaiting = DetachedThread.start {
                signals.waitForEnd()
                listener.stop()
            }
            guard isWaiting else {
                throw DoorFailure.unusable("The system gives no thread to wait for signals with. Try again later.")
            }
            let server = PKCS11Server(note: { DoorReport.note($0, program: DoorProgram.pkcs11.name) })
            try listener.serve(limit: PKCS11Limits.connectionCount) { server.serve($0) }
        } catch {
            throw ExitCode(DoorReport.failed(error, program: DoorProgram.pkcs11.name, json: json).rawValue)
        }
    }

    private static let socket = "pkcs11"
}

/// A process of this program that outlives the one which started it.
///
/// Swift's threads do not survive a fork, so another process is started instead of forking this one.
private enum Background {
    /// Returns when programs can connect, and throws what the process says otherwise.
    static func start() throws(DoorFailure) {
        let complaint: String
        do {
            let report = try ReportPipe()
            let environment = ProcessInfo.processInfo.environment.map { "\($0)=\($1)" }
            // Never by a path that somebody else can change.
            _ = try ChildProcess(
                program: "/proc/self/exe", arguments: [DoorProgram.pkcs11.name, "--reports-readiness"],
                environment: environment, descriptors: [-1, -1, report.writing], leadsSession: true)
            complaint = report.readAll()
        } catch {
            throw DoorFailure.unusable("The door cannot be started in the background (\(error)).")
        }
        guard complaint.isEmpty else { throw DoorFailure.unusable(complaint) }
    }

    /// Gives up standard error, which is the report. What is said later nobody reads.
    static func reportReadiness() {
        let nothing = unsafe open("/dev/null", O_WRONLY | O_CLOEXEC)
        guard nothing >= 0 else { return }
        dup2(nothing, STDERR_FILENO)
        close(nothing)
    }
}
