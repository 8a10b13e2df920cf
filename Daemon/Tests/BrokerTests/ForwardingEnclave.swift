import Enclave
import Foundation
import SecretMemory

/// An enclave that has everything done by another one, but for what a test writes anew.
protocol ForwardingEnclave: Enclave {
    var enclave: any Enclave { get }
}

extension ForwardingEnclave {
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
