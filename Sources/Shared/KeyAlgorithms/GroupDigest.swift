public import Crypto
public import Foundation

/// A digest of a length that its algorithm allows. swift-crypto adapts it to the size of the group when it signs or
/// verifies (FIPS 186-5, section 6.4: of a longer digest it takes the leftmost bits).
///
/// Only the checking functions make one, so every value is a checked digest.
public struct CheckedDigest: Digest {
    /// Every digest of this type may have a length of its own; see ``bytes``.
    public static var byteCount: Int { 0 }

    public let bytes: Data

    /// With a `hash`, the digest must be exactly as long as that hash's. Without, any length but zero: zero bytes are no
    /// digest, and a signature over the number zero can be made by anyone. Refused with
    /// ``KeyAlgorithmError/Parameter/digestLength``.
    public init(digest: Data, hash: HashAlgorithm?) throws(KeyAlgorithmError) {
        let isExpected = hash.map { digest.count == $0.byteCount } ?? !digest.isEmpty
        guard isExpected else { throw .invalidParameter(.digestLength) }
        bytes = digest
    }

    /// The digest that `algorithm` signs for `input`. Hashes a message; checks the length of a digest.
    ///
    /// Throws ``KeyAlgorithmError/unsupportedAlgorithm`` if the algorithm does not sign.
    public init(of input: Data, algorithm: KeyAlgorithm) throws(KeyAlgorithmError) {
        switch algorithm.kind {
        case .signature(_, .message(let hash)), .rsaSignature(_, .message(let hash)):
            try self.init(digest: hash.digest(of: input), hash: hash)
        case .signature(_, .digest(let hash)), .rsaSignature(_, .digest(let hash)):
            try self.init(digest: input, hash: hash)
        default: throw .unsupportedAlgorithm
        }
    }

    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try unsafe bytes.withUnsafeBytes(body)
    }
}

/// The 32 bytes that ECDSA on P-256 signs: a digest adapted to the size of the group (FIPS 186-5, section 6.4). A
/// private key in an enclave gets this value; swift-crypto signs it like any digest.
public struct GroupDigest: Digest {
    public static let byteCount = 32

    /// The 32 bytes, big-endian.
    public let bytes: Data

    /// Brings a digest to the size of the group: of a longer one the leftmost 32 bytes, a shorter one as the same integer
    /// with leading zeros. Refuses what ``CheckedDigest/init(digest:hash:)`` refuses.
    public init(digest: Data, hash: HashAlgorithm?) throws(KeyAlgorithmError) {
        self.init(try CheckedDigest(digest: digest, hash: hash))
    }

    /// The digest that `algorithm` signs for `input`. Hashes a message; checks the length of a digest.
    ///
    /// Throws ``KeyAlgorithmError/unsupportedAlgorithm`` if the algorithm is not ECDSA.
    public init(of input: Data, algorithm: KeyAlgorithm) throws(KeyAlgorithmError) {
        guard case .signature = algorithm.kind else { throw .unsupportedAlgorithm }
        self.init(try CheckedDigest(of: input, algorithm: algorithm))
    }

    private init(_ digest: CheckedDigest) {
        let leftmost = digest.bytes.prefix(Self.byteCount)
        bytes = Data(count: Self.byteCount - leftmost.count) + leftmost
    }

    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try unsafe bytes.withUnsafeBytes(body)
    }
}
