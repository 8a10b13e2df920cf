import Foundation
import KeyAlgorithms
import OstiaryWire

/// The input of a signature: the digest, and the algorithm that takes it.
struct SigningInput {
    let digest: Data
    /// The digest form of the algorithm that was chosen.
    let algorithm: KeyAlgorithm

    /// Reads `file`: hashes a message piece by piece, and takes a digest unchanged.
    init(_ file: InputFile, for chosen: KeyAlgorithm) throws {
        guard case .signature(_, let input) = chosen.kind, let digestForm = chosen.digestForm else {
            throw CommandError.keyAlgorithm(.unsupportedAlgorithm)
        }
        algorithm = digestForm
        switch input {
        case .message(let hash): digest = try Self.hash(file, hash)
        case .digest(let hash): digest = try Self.digest(file, hash)
        }
    }

    private static func hash(_ file: InputFile, _ algorithm: HashAlgorithm) throws -> Data {
        var hash = StreamingHash(algorithm)
        try unsafe file.forEachChunk { unsafe hash.update($0) }
        return hash.finalize()
    }

    /// Checks the length here, before anybody is asked for a factor.
    private static func digest(_ file: InputFile, _ hash: HashAlgorithm?) throws -> Data {
        let bytes = try file.data(limit: WireLimits.tailByteCount)
        do { _ = try GroupDigest(digest: bytes, hash: hash) } catch { throw CommandError.keyAlgorithm(error) }
        return bytes
    }
}
