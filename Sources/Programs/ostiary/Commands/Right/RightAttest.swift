import AccessControl
import ArgumentParser
import Foundation
import OstiaryClient
import OstiaryMessages

struct RightAttest: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attest",
        abstract: "Let the TPM sign a statement on a right's key.",
        discussion: """
            The statement says for a server's challenge that the key was made in this TPM and cannot leave it, and which rule \
            it was made for. The server has to know the TPM: see `ostiary attest enroll`. It reads the statement with \
            `ostiary verify-attestation verify`.

            Example:
              ostiary right attest 2fa --challenge challenge.bin --output statement
            """)

    @OptionGroup var right: RightArgument
    @Option(
        help: ArgumentHelp(
            "The server's challenge, 16 to 1024 bytes, - for standard input.", valueName: "file"))
    var challenge: InputFile
    @OptionGroup var result: ResultOutput
    @OptionGroup var reason: ReasonOption

    func run() throws {
        let destination = try result.usable(for: .binary, apartFrom: [challenge])
        let challenge = try challenge.data(limit: AttestationLimits.challengeByteCounts.upperBound)
        let stored = try right.find()
        let statement = try statement(for: challenge, on: stored)
        if case .object = destination {
            return try JSONOutput.print(AttestationDocument(statement: statement, publicKey: stored.publicKey))
        }
        try destination.write(statement, as: .binary, key: "statement")
    }

    private func statement(for challenge: Data, on stored: StoredRight) throws -> Data {
        let interaction = reason.interaction(otherwise: "attest the key to a server")
        guard !stored.accessControl.confirmsEachSignature else {
            return try OstiaryClient.shared.confirmAndAttest(
                challenge: challenge, right: stored.id, interaction: interaction)
        }
        let authorized = try AuthorizedRight(stored, interaction: interaction)
        return try authorized.context.attestation(challenge: challenge, right: stored.id)
    }
}

/// A TPM's statement on a right's key: `right attest --json`.
struct AttestationDocument: Encodable {
    let statement: Data
    /// X9.63, uncompressed.
    let publicKey: Data
}
