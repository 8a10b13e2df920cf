import CToken
import Crypto
import Foundation

/// A P-256 key behind a module of PKCS #11, in the one session that a host has.
final class TokenKey {
    private let token: OpaquePointer
    private let digest: [UInt8]
    private var signature = [UInt8](repeating: 0, count: 64)

    /// Loads the module, which connects where this process's environment says.
    init(module: String, token label: String, pin: String? = nil, key: String, digest: SHA256.Digest) throws {
        guard let token = benchmark_token_open(module, label, pin, key) else { throw Failed() }
        self.token = token
        self.digest = Array(digest)
    }

    deinit { benchmark_token_close(token) }

    func sign() throws {
        guard benchmark_token_sign(token, digest, &signature) == 0 else { throw Failed() }
    }

    /// Throws unless the last signature is one by this key.
    func verifyLast(by key: P256.Signing.PublicKey, of digest: SHA256.Digest) throws {
        let parsed = try P256.Signing.ECDSASignature(rawRepresentation: signature)
        guard key.isValidSignature(parsed, for: digest) else { throw Failed() }
    }

    struct Failed: Error, CustomStringConvertible {
        var description: String { "a module of PKCS #11 did not sign" }
    }
}
