import Foundation
import KeyAlgorithms
import OstiaryMessages

/// The input of a signature: the digest, and the algorithm that takes it.
struct SigningInput {
    let digest: Data
    /// The digest form of the algorithm that was chosen.
    let algorithm: KeyAlgorithm
    /// The content of the file, where it has at most ``WireLimits/tailByteCount`` bytes: the daemon shows it for rights that
    /// confirm each signature. Nil if it was not wanted.
    let content: Data?

    /// Reads `file`: hashes a message piece by piece, and takes a digest unchanged.
    init(_ file: InputFile, for chosen: KeyAlgorithm, keepsContent: Bool) throws {
        guard case .signature(_, let input) = chosen.kind, let digestForm = chosen.digestForm else {
            throw CommandError.keyAlgorithm(.unsupportedAlgorithm)
        }
        algorithm = digestForm
        switch input {
        case .message(let hash): (digest, content) = try Self.hash(file, hash, keepsContent)
        case .digest(let hash):
            digest = try Self.digest(file, hash)
            content = digest
        }
    }

    private static func hash(
        _ file: InputFile, _ algorithm: HashAlgorithm, _ keepsContent: Bool
    ) throws -> (digest: Data, content: Data?) {
        var hash = StreamingHash(algorithm)
        var content = keepsContent ? Data() : nil
        try unsafe file.forEachChunk { chunk in
            unsafe hash.update(chunk)
            guard let count = content?.count else { return }
            if count + chunk.count <= WireLimits.tailByteCount {
                unsafe content?.append(contentsOf: chunk)
            } else {
                content = nil
            }
        }
        return (hash.finalize(), content)
    }

    /// Checks the length here, before anybody is asked for a factor.
    private static func digest(_ file: InputFile, _ hash: HashAlgorithm?) throws -> Data {
        let bytes = try file.data(limit: WireLimits.tailByteCount)
        do { _ = try GroupDigest(digest: bytes, hash: hash) } catch { throw CommandError.keyAlgorithm(error) }
        return bytes
    }
}
