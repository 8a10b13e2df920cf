import ArgumentParser
import Glibc
import OstiaryClient
import UnixSocket

/// Turns into the program that verifies. It belongs to servers and needs no daemon, so it is a program of its own.
struct VerifyAttestationCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify-attestation",
        abstract: "For servers: enrol the TPM of a machine, and verify its statements.",
        discussion: """
            Needs the program ostiary-verify-attestation, which `ostiary verify-attestation --help` tells about.

            Example:
              ostiary verify-attestation verify statement --challenge c --key k
            """)

    @Argument(parsing: .captureForPassthrough, help: "Given to ostiary-verify-attestation.")
    var arguments: [String] = []

    func run() throws {
        let program = try DaemonProgram.findNeighbour("ostiary-verify-attestation")
        // Returns only when it failed.
        _ = unsafe CStrings.withPointers([PathName.last(of: program)] + arguments) { unsafe execv(program, $0) }
        throw CommandError.commandNotStarted(SystemCallError("execv", subject: program))
    }
}
