import Crypto
public import Foundation

/// The hash functions that Apple's key algorithms name. The raw value is the name inside their strings.
public enum HashAlgorithm: String, CaseIterable, Hashable, Sendable {
    case sha1 = "SHA1"
    case sha224 = "SHA224"
    case sha256 = "SHA256"
    case sha384 = "SHA384"
    case sha512 = "SHA512"

    /// Length of a digest in bytes.
    public var byteCount: Int {
        switch self {
        case .sha1: Insecure.SHA1.byteCount
        case .sha224: SHA224.byteCount
        case .sha256: SHA256.byteCount
        case .sha384: SHA384.byteCount
        case .sha512: SHA512.byteCount
        }
    }

    /// The digest of bytes in memory. For larger data see ``StreamingHash``.
    public func digest(of bytes: some DataProtocol) -> Data {
        var hash = StreamingHash(self)
        hash.update(bytes)
        return hash.finalize()
    }

    /// A fresh state of this function.
    func makeFunction() -> any HashFunction {
        switch self {
        case .sha1: Insecure.SHA1()
        case .sha224: SHA224()
        case .sha256: SHA256()
        case .sha384: SHA384()
        case .sha512: SHA512()
        }
    }
}

/// A digest computed piece by piece, for files and streams.
///
///     var hash = StreamingHash(.sha256)
///     while let chunk = try file.read(upToCount: 1 << 20), !chunk.isEmpty { hash.update(chunk) }
///     let digest = hash.finalize()
public struct StreamingHash: Sendable {
    private var function: any HashFunction
    private let byteCount: Int

    public init(_ algorithm: HashAlgorithm) {
        function = algorithm.makeFunction()
        byteCount = algorithm.byteCount
    }

    /// Adds `bytes` to the hashed data.
    public mutating func update(_ bytes: some DataProtocol) {
        function.update(data: bytes)
    }

    /// The digest of everything added so far; more can be added afterwards.
    public func finalize() -> Data {
        var digest = Data(count: byteCount)
        unsafe digest.withUnsafeMutableBytes { unsafe function.finalize(into: $0) }
        return digest
    }
}

extension HashFunction {
    /// Writes the digest so far, or as much of it as there is room for. Unlike the value that `any HashFunction` gives, it
    /// passes through no heap memory, where a digest of secrets would stay behind.
    func finalize(into target: UnsafeMutableRawBufferPointer) {
        unsafe finalize().withUnsafeBytes { unsafe target.copyBytes(from: $0.prefix(target.count)) }
    }
}
