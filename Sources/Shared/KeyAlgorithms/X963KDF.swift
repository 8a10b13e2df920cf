import Crypto
package import Foundation
package import SecretMemory

/// The key derivation function of ANSI X9.63 (SEC 1, section 3.6.1):
/// `Hash(Z ‖ 1 ‖ sharedInfo) ‖ Hash(Z ‖ 2 ‖ sharedInfo) ‖ …`, counters of four big-endian bytes, cut to the wanted length.
///
/// swift-crypto has it too, but only over a shared secret that its own keys made; these come from an enclave.
package enum X963KDF {
    /// Derives `byteCount` bytes. The callers bound `byteCount` and `sharedInfo`.
    package static func derive(
        _ byteCount: Int, from sharedSecret: borrowing SecretBytes, sharedInfo: Data, hash: HashAlgorithm
    ) -> SecretBytes {
        var output = SecretBytes(zeroed: byteCount)
        for (index, offset) in stride(from: 0, to: byteCount, by: hash.byteCount).enumerated() {
            var function = hash.makeFunction()
            unsafe sharedSecret.withUnsafeBytes { unsafe function.update(bufferPointer: $0) }
            unsafe withUnsafeBytes(of: UInt32(index + 1).bigEndian) { unsafe function.update(bufferPointer: $0) }
            function.update(data: sharedInfo)
            unsafe output.withUnsafeMutableBytes { output in
                unsafe function.finalize(into: UnsafeMutableRawBufferPointer(rebasing: output[offset...]))
            }
        }
        return output
    }
}
