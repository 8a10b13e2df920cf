import Enclave
import Foundation
import SecretMemory

/// A fake in one thing: an enclave that makes no keys but P-256, as a chip without ML-KEM and ML-DSA. Everything else is
/// done by the enclave behind it.
struct PlainEnclave: Enclave {
    let enclave: any Enclave

    var kind: EnclaveKind { enclave.kind }
    var guessing: GuessingExposure { enclave.guessing }

    func makeKey(
        _ type: EnclaveKeyType, authorization: borrowing SecretBytes, binding: KeyBinding
    ) throws(EnclaveError) -> EnclaveKey {
        guard type == .p256 else { throw .unsupportedKey }
        return try enclave.makeKey(type, authorization: authorization, binding: binding)
    }

    func openKey(
        _ key: EnclaveKey, authorization: borrowing SecretBytes, binding: KeyBinding
    ) throws(EnclaveError) -> any OpenEnclaveKey {
        try enclave.openKey(key, authorization: authorization, binding: binding)
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
}
