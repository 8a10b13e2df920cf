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
struct InterludeEnclave: Enclave {
    let enclave: any Enclave
    let interlude: Interlude

    var kind: EnclaveKind { enclave.kind }
    var guessing: GuessingExposure { enclave.guessing }

    func makeKey(
        _ type: EnclaveKeyType, authorization: borrowing SecretBytes, binding: KeyBinding
    ) throws(EnclaveError) -> EnclaveKey {
        try enclave.makeKey(type, authorization: authorization, binding: binding)
    }

    func openKey(
        _ key: EnclaveKey, authorization: borrowing SecretBytes, binding: KeyBinding
    ) throws(EnclaveError) -> any OpenEnclaveKey {
        Key(key: try enclave.openKey(key, authorization: authorization, binding: binding), interlude: interlude)
    }

    func seal(
        _ secret: borrowing SecretBytes, authorization: borrowing SecretBytes, context: Data
    ) throws(EnclaveError) -> Data {
        try enclave.seal(secret, authorization: authorization, context: context)
    }

    func unseal(
        _ blob: Data, authorization: borrowing SecretBytes, context: Data
    ) throws(EnclaveError) -> SecretBytes {
        try enclave.unseal(blob, authorization: authorization, context: context)
    }

    func authenticationCode(for message: Data, label: String) throws(EnclaveError) -> Data {
        try enclave.authenticationCode(for: message, label: label)
    }

    func protect(_ record: Data, label: String) throws(EnclaveError) -> Data {
        try enclave.protect(record, label: label)
    }

    func unprotect(_ blob: Data, label: String) throws(EnclaveError) -> Data {
        try enclave.unprotect(blob, label: label)
    }

    func digest(_ value: Data, label: String) throws(EnclaveError) -> Data { try enclave.digest(value, label: label) }

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
