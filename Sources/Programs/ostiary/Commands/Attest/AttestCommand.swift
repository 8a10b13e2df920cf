import ArgumentParser
import Foundation
import OstiaryClient
import OstiaryMessages

struct AttestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attest",
        abstract: "Make this machine's TPM known to a server, so that its statements count there.",
        discussion: """
            Each server does this once. It looks at the certificate of the TPM, encrypts a secret that only this TPM opens, and \
            gets it back. Afterwards it knows the attestation key, and `ostiary right attest` makes statements on rights.

            Here, and on the server (`ostiary verify-attestation --help` shows its options):
              ostiary attest enroll --output enrollment.cbor
              ostiary verify-attestation challenge enrollment.cbor …
              ostiary attest activate credential --output secret
              ostiary verify-attestation confirm secret …

            Example:
              ostiary attest enroll --output enrollment.cbor
            """,
        subcommands: [Enroll.self, Activate.self])

    struct Enroll: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write the TPM's enrolment for a server; makes the attestation key if there is none.",
            discussion: """
                You are asked for the passcode, because the TPM's certificate names this machine for good: anyone who \
                sees it recognises the machine again.

                Example:
                  ostiary attest enroll --output enrollment.cbor
                """)

        @OptionGroup var result: ResultOutput
        @OptionGroup var reason: ReasonOption

        func run() throws {
            let destination = try result.usable(for: .binary)
            let enrollment = try OstiaryClient.shared.attestationEnrollment(
                interaction: reason.interaction(otherwise: "make this machine's TPM known to a server"))
            try destination.write(enrollment, as: .binary, key: "enrollment")
        }
    }

    struct Activate: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Open the credential that a server made for this TPM; write the secret in it.",
            discussion: """
                The TPM opens only a credential for itself and for the attestation key of this store.

                Example:
                  ostiary attest activate credential --output secret
                """)

        @Argument(help: "The server's credential, - for standard input.") var credential: InputFile
        @OptionGroup var result: ResultOutput

        func run() throws {
            let destination = try result.usable(for: .secret, apartFrom: [credential])
            let credential = try credential.data(limit: AttestationLimits.credentialByteCount)
            try destination.write(
                try OstiaryClient.shared.secret(inAttestationCredential: credential), key: "secret")
        }
    }
}
