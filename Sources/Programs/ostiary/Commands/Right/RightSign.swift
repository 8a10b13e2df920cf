import AccessControl
import ArgumentParser
import Foundation
import KeyAlgorithms
import OstiaryClient
import OstiaryMessages

struct RightSign: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign",
        abstract: "Sign files with the key of a right.",
        discussion: """
            The default, \(AlgorithmName.signingDefault), hashes the file and writes a DER signature, which \
            `openssl dgst -sha256 -verify` reads. If an algorithm's name contains “digest”, the file holds the digest \
            itself. If it contains “raw”, the signature is r and s, 64 bytes (RFC 4754).

            A right that confirms each signature shows what it signs: text as text, other data as size and SHA-256. It signs at \
            most \(WireLimits.tailByteCount) bytes, with SHA-256 only.

            Several files need one authorization: you are asked once, and each signature goes to FILE.sig. If one cannot be \
            made or stored, none is written. An output is never one of the inputs.

            Algorithms (Apple's names work too):
            \(AlgorithmName.helpLines(for: .sign))

            Examples:
              ostiary right sign 2fa challenge.bin --output challenge.sig
              ostiary right sign 2fa - --algorithm ecdsa-raw-sha256 < in > in.sig
              ostiary right sign 2fa one.tar two.tar
            """)

    @OptionGroup var right: RightArgument
    @OptionGroup var files: SigningFiles
    @OptionGroup var reason: ReasonOption

    func validate() throws { try files.check() }

    func run() throws {
        try files.sign {
            let stored = try right.find()
            let interaction = reason.interaction(otherwise: files.purpose)
            guard !stored.accessControl.confirmsEachSignature else {
                return { file, input in
                    try files.confirmedSignature(file, input, by: stored.id, interaction)
                }
            }
            let authorized = try AuthorizedRight(stored, interaction: interaction)
            return { _, input in
                try authorized.context.sign(
                    digest: input.digest, right: authorized.right.id, algorithm: input.algorithm.rawValue)
            }
        }
    }
}
