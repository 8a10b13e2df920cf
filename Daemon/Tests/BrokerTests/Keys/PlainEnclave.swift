import Enclave
import SecretMemory

@testable import BrokerTestSupport

/// A fake in one thing: an enclave that makes no keys but P-256, as a chip without ML-KEM and ML-DSA. Everything else is
/// done by the enclave behind it.
struct PlainEnclave: ForwardingEnclave {
    let enclave: any Enclave

    func makeKey(
        _ type: EnclaveKeyType, authorization: borrowing SecretBytes, binding: KeyBinding
    ) throws(EnclaveError) -> WrappedKey {
        guard type == .p256 else { throw .unsupportedKey }
        return try enclave.makeKey(type, authorization: authorization, binding: binding)
    }
}
