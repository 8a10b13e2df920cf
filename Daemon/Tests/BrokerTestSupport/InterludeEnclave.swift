import Enclave
import Foundation
import SecretMemory
import Synchronization

/// Something that is to happen once, at a moment that a test cannot reach otherwise.
final class Interlude: Sendable {
    private let body = Mutex<(@Sendable () -> Void)?>(nil)

    func next(_ body: @escaping @Sendable () -> Void) { self.body.withLock { $0 = body } }

    func run() { body.withLock { $0.take() }?() }
}

/// An enclave whose keys pause after each operation, before its result is handed over.
struct InterludeEnclave: ForwardingEnclave {
    let enclave: any Enclave
    let interlude: Interlude
    var isImmediate = true

    func openKey(
        _ key: WrappedKey, authorization: borrowing SecretBytes, binding: KeyBinding, session: (any PasscodeSession)?
    ) throws(EnclaveError) -> any OpenEnclaveKey {
        Key(
            key: try enclave.openKey(key, authorization: authorization, binding: binding, session: session),
            interlude: interlude)
    }

    private struct Key: OpenEnclaveKey {
        let key: any OpenEnclaveKey
        let interlude: Interlude

        var publicKey: Data { key.publicKey }

        func signature(forDigest digest: Data) throws(EnclaveError) -> Data {
            defer { interlude.run() }
            return try key.signature(forDigest: digest)
        }

        func sharedSecret(withPublicKey peerKey: Data) throws(EnclaveError) -> SecretBytes {
            defer { interlude.run() }
            return try key.sharedSecret(withPublicKey: peerKey)
        }

        func sharedSecret(decapsulating encapsulated: Data) throws(EnclaveError) -> SecretBytes {
            defer { interlude.run() }
            return try key.sharedSecret(decapsulating: encapsulated)
        }
    }
}
