public import Crypto
public import Foundation

/// The 32 bytes that ECDSA on P-256 signs: a digest brought to the size of the group (FIPS 186-5, section 6.4). What a
/// private key is handed; swift-crypto signs it as any digest.
///
/// Only the checking functions make one, so whoever holds it holds a digest of a length that its algorithm allows.
public struct GroupDigest: Digest {
    public static let byteCount = 32

    /// The 32 bytes, big-endian.
    public let bytes: Data

    /// Brings a digest to the size of the group: of a longer one the leftmost 32 bytes, a shorter one as the same integer
    /// with leading zeros.
    ///
    /// With a `hash`, the digest must be exactly as long as that hash's. Without, any length but zero: zero bytes are no
    /// digest, and a signature over the number zero can be made by anyone. Refused with
    /// ``KeyAlgorithmError/Parameter/digestLength``.
    public init(digest: Data, hash: HashAlgorithm?) throws(KeyAlgorithmError) {
        let isExpected = hash.map { digest.count == $0.byteCount } ?? !digest.isEmpty
        guard isExpected else { throw .invalidParameter(.digestLength) }
        guard digest.count != Self.byteCount else {
            bytes = digest
            return
        }
        let leftmost = digest.prefix(Self.byteCount)
        bytes = Data(count: Self.byteCount - leftmost.count) + leftmost
    }

    /// What `algorithm` signs for `input`: the input is hashed if it is a message and measured if it is a digest.
    ///
    /// Throws ``KeyAlgorithmError/unsupportedAlgorithm`` if the algorithm is not ECDSA.
    public init(of input: Data, algorithm: KeyAlgorithm) throws(KeyAlgorithmError) {
        switch algorithm.kind {
        case .signature(_, .message(let hash)): try self.init(digest: hash.digest(of: input), hash: hash)
        case .signature(_, .digest(let hash)): try self.init(digest: input, hash: hash)
        default: throw .unsupportedAlgorithm
        }
    }

    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try unsafe bytes.withUnsafeBytes(body)
    }
}
