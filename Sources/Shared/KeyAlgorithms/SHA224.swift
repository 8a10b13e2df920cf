// swift-crypto has no public SHA-224, and Apple's algorithm names include it. BoringSSL, which swift-crypto carries and
// links into every program that uses it, has one. Which files reach past swift-crypto's own API, and why: decision 0110.
@_implementationOnly import CCryptoBoringSSL
import Crypto
import Foundation

/// SHA-224 (FIPS 180-4) as a hash function of swift-crypto.
struct SHA224: HashFunction {
    static let blockByteCount = 64
    static let byteCount = 28

    private var state = State()

    init() {}

    mutating func update(bufferPointer: UnsafeRawBufferPointer) {
        if !isKnownUniquelyReferenced(&state) { state = State(copying: state) }
        unsafe state.update(bufferPointer)
    }

    func finalize() -> SHA224Digest {
        State(copying: state).finalize()
    }
}

/// The 28 bytes of SHA-224, held in place: on the heap a digest of secrets would stay behind.
struct SHA224Digest: Digest {
    static var byteCount: Int { SHA224.byteCount }

    fileprivate var bytes = InlineArray<28, UInt8>(repeating: 0)

    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try unsafe Swift.withUnsafeBytes(of: bytes, body)
    }

    func hash(into hasher: inout Hasher) {
        unsafe withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    }
}

/// BoringSSL's context, wiped when it goes away because key derivation hashes secrets.
private final class State: @unchecked Sendable {
    // SAFETY: (@unchecked) SHA224 changes a state only while it is the sole owner.
    private var context: SHA256_CTX

    init() {
        context = SHA256_CTX()
        unsafe succeed(CCryptoBoringSSL_SHA224_Init(&context))
    }

    init(copying other: State) {
        context = other.context
    }

    deinit {
        unsafe CCryptoBoringSSL_OPENSSL_cleanse(&context, MemoryLayout<SHA256_CTX>.size)
    }

    func update(_ bytes: UnsafeRawBufferPointer) {
        unsafe succeed(CCryptoBoringSSL_SHA224_Update(&context, bytes.baseAddress, bytes.count))
    }

    func finalize() -> SHA224Digest {
        var digest = SHA224Digest()
        unsafe withUnsafeMutableBytes(of: &digest.bytes) { output in
            unsafe succeed(CCryptoBoringSSL_SHA224_Final(output.baseAddress, &context))
        }
        return digest
    }

    private func succeed(_ result: CInt) {
        precondition(result == 1, "SHA-224 has no way to fail")
    }
}
