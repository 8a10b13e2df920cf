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
