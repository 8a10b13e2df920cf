import ArgumentParser
import Foundation
import KeyAlgorithms

/// `--format`: how a public key is written.
enum PublicKeyFormat: String, ExpressibleByArgument, CaseIterable {
    case pem, x963

    var content: OutputFile.Content { self == .pem ? .text : .binary }

    func encoded(_ key: P256PublicKey) -> Data {
        switch self {
        case .pem: Data(key.pem.utf8)
        case .x963: key.x963
        }
    }
}

/// `--format`, `--output` and `--json` of the commands that write a public key.
struct PublicKeyOutput: ParsableArguments {
    @Option(help: "How the key is written.") var format: PublicKeyFormat = .pem
    @OptionGroup var result: ResultOutput

    /// Writes the key; a place that it cannot be written to is refused before the key is looked for.
    func write(_ key: @autoclosure () throws -> P256PublicKey) throws {
        let destination = try result.usable(for: format.content)
        let key = try key()
        if case .object = destination {
            return try JSONOutput.print(PublicKeyDocument(pem: key.pem, publicKey: key.x963))
        }
        try destination.write(format.encoded(key), as: format.content, key: "publicKey")
    }
}

/// A public key in both formats: `public-key --json`.
struct PublicKeyDocument: Encodable {
    let pem: String
    /// X9.63, uncompressed.
    let publicKey: Data
}
