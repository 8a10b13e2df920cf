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
    var isImmediate: Bool { enclave.isImmediate }

    func makeKey(
        _ type: EnclaveKeyType, authorization: borrowing SecretBytes, binding: KeyBinding
    ) throws(EnclaveError) -> WrappedKey {
        try enclave.makeKey(type, authorization: authorization, binding: binding)
    }

    func openKey(
        _ key: WrappedKey, authorization: borrowing SecretBytes, binding: KeyBinding, session: (any PasscodeSession)?
    ) throws(EnclaveError) -> any OpenEnclaveKey {
        try enclave.openKey(key, authorization: authorization, binding: binding, session: session)
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
}
