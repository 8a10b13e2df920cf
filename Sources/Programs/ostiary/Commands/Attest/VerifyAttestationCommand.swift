import ArgumentParser

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

    func run() throws { try NeighbourProgram.become("ostiary-verify-attestation", arguments) }
}
