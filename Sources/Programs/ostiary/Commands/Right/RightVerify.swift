import ArgumentParser
import Foundation
import KeyAlgorithms
import OstiaryClient

struct RightVerify: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check a signature with the public key of a right; asks for nothing.",
        discussion: """
            The exit status is 0 for a valid signature and 1 for any other.

            Example:
              ostiary right verify 2fa challenge.bin --signature challenge.sig
            """)

    /// No signature of P-256 comes near.
    static let signatureByteLimit = 1024

    @OptionGroup var right: RightArgument
    @Argument(help: "The file that was signed, - for standard input.") var file: InputFile
    @Option(help: ArgumentHelp("The signature, - for standard input.", valueName: "file")) var signature: InputFile

    @Option(
        help: ArgumentHelp("The algorithm (default: \(AlgorithmName.signingDefault)).", valueName: "name"),
        completion: .list(AlgorithmName.shortNames(for: .verify)),
        transform: { try AlgorithmName.algorithm(named: $0, for: .verify) })
    var algorithm: KeyAlgorithm?

    @OptionGroup var json: JSONFlag

    func validate() throws {
        guard !file.isStandardInput || !signature.isStandardInput else {
            throw ValidationError("Standard input cannot be both the file and the signature.")
        }
    }

    func run() throws {
        let chosen = try algorithm ?? AlgorithmName.algorithm(named: AlgorithmName.signingDefault, for: .verify)
        let signature = try signature.data(limit: Self.signatureByteLimit)
        let input = try SigningInput(file, for: chosen, keepsContent: false)
        let key = try right.find().verifiedPublicKey()
        let verdict = SignatureVerdictDocument(valid: try Self.isValid(signature, of: input, for: key))
        if json.isGiven { try JSONOutput.print(verdict) } else { try StandardOutput.line(verdict.text) }
        if !verdict.valid { throw NegativeResult() }
    }

    private static func isValid(_ signature: Data, of input: SigningInput, for key: P256PublicKey) throws -> Bool {
        do {
            try ECDSA.verify(signature: signature, of: input.digest, publicKey: key, algorithm: input.algorithm)
            return true
        } catch .signatureMismatch {
            return false
        } catch {
            throw CommandError.keyAlgorithm(error)
        }
    }
}

extension StoredRight {
    /// The public key, checked to be a point of the curve.
    func verifiedPublicKey() throws -> P256PublicKey {
        do { return try P256PublicKey(x963: publicKey) } catch { throw CommandError.keyAlgorithm(error) }
    }
}
