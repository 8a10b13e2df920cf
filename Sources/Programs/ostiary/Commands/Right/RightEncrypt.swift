import ArgumentParser
import Foundation
import KeyAlgorithms
import OstiaryClient
import SecretMemory

struct RightEncrypt: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "encrypt",
        abstract: "Encrypt a file so that only the key of a right opens it; asks for nothing.",
        discussion: """
            The file may have up to \(KeyAlgorithmLimits.plaintext) bytes. Encrypt a larger file with a random key, \
            and that key with the right.

            Algorithms (Apple's names work too):
            \(AlgorithmName.helpLines(for: .encrypt))

            Example:
              ostiary right encrypt 2fa notes.txt --output notes.enc
            """)

    @OptionGroup var right: RightArgument
    @Argument(help: "The file to encrypt, - for standard input.") var file: InputFile
    @OptionGroup var result: ResultOutput

    @Option(
        help: ArgumentHelp("The algorithm (default: \(AlgorithmName.encryptionDefault)).", valueName: "name"),
        completion: .list(AlgorithmName.shortNames(for: .encrypt)),
        transform: { try AlgorithmName.algorithm(named: $0, for: .encrypt) })
    var algorithm: KeyAlgorithm?

    func run() throws {
        let destination = try result.usable(for: .binary, apartFrom: [file])
        let chosen = try algorithm ?? AlgorithmName.algorithm(named: AlgorithmName.encryptionDefault, for: .encrypt)
        let plaintext = try file.secretBytes(limit: KeyAlgorithmLimits.plaintext)
        let key = try right.find().verifiedPublicKey()
        try destination.write(Self.encrypt(plaintext, to: key, chosen), as: .binary, key: "ciphertext")
    }

    static func encrypt(
        _ plaintext: borrowing SecretBytes, to key: P256PublicKey, _ algorithm: KeyAlgorithm
    ) throws -> Data {
        do {
            return try unsafe plaintext.withUnsafeBytes { (bytes) throws(KeyAlgorithmError) in
                try unsafe ECIES.encrypt(bytes, to: key, algorithm: algorithm)
            }
        } catch { throw CommandError.keyAlgorithm(error) }
    }
}
