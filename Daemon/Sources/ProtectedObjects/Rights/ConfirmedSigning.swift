import Crypto
import Foundation
import KeyAlgorithms
package import OstiaryMessages
package import PromptProtocol
import Refusals
package import SecretMemory

/// One signature that its owner confirms. The digest for the question and the digest for the key are computed apart, so that a
/// mistake in one of them ends in a refusal of the key's enclave.
package struct ConfirmedSigning {
    /// The data as the question shows it.
    package let shown: PromptSignedData
    private let shownDigest: Data
    private let algorithm: KeyAlgorithm

    /// - Throws: a refusal for an algorithm other than ECDSA with SHA-256, `KeyAlgorithmError` for a digest of another length.
    package init(_ request: WireConfirmedSignRequest, input: borrowing SecretBytes) throws {
        guard let algorithm = KeyAlgorithm(rawValue: request.algorithm),
            case .signature(_, let form) = algorithm.kind
        else { throw Self.unsupportedAlgorithm }
        let data = Data(exposing: input)
        switch form {
        case .message(.sha256):
            shownDigest = Data(SHA256.hash(data: data))
            shown = PromptSignedData(data, digest: shownDigest)
        case .digest(.sha256):
            shownDigest = try CheckedDigest(digest: data, hash: .sha256).bytes
            shown = PromptSignedData(digestOnly: shownDigest)
        default: throw Self.unsupportedAlgorithm
        }
        self.algorithm = algorithm
    }

    private static let unsupportedAlgorithm = Refusal(
        .unsupportedAlgorithm, "A right that confirms each signature signs by ECDSA with SHA-256 only.",
        cause: "key.algorithm")

    /// Signs `input`.
    package func signature(of input: borrowing SecretBytes, with right: OpenedRight) throws -> SecretBytes {
        guard let digestForm = algorithm.digestForm else { throw Self.unsupportedAlgorithm }
        let digest = try GroupDigest(of: Data(exposing: input), algorithm: algorithm)
        let signature = try right.signature(forDigest: digest.bytes, shown: shownDigest)
        return SecretBytes(try ECDSA.encode(rawSignature: signature, for: digestForm))
    }
}
