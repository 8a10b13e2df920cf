import ArgumentParser
import Foundation
import KeyAlgorithms
import OstiaryClient

struct RightPublicKey: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "public-key",
        abstract: "Write the public key of a right; asks for nothing.",
        discussion: """
            pem is SubjectPublicKeyInfo, as openssl reads it; x963 is the uncompressed point, 65 bytes.

            Example:
              ostiary right public-key 2fa --output 2fa.pem
            """)

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case pem, x963
    }

    @OptionGroup var right: RightArgument
    @Option(help: "How the key is written.") var format: Format = .pem
    @OptionGroup var output: OutputOption

    func run() throws {
        let content: OutputFile.Content = format == .pem ? .text : .binary
        try output.file.requireUsable(for: content)
        try output.file.write(encoded(try right.find().verifiedPublicKey()), as: content)
    }

    private func encoded(_ key: P256PublicKey) -> Data {
        switch format {
        case .pem: Data(key.pem.utf8)
        case .x963: key.x963
        }
    }
}
