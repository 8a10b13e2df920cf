import Enclave
import Foundation
import Vault

/// Lends the enclave's keys to the store, which knows no cryptography of its own.
struct EnclaveProtector: RecordProtector {
    let enclave: any Enclave

    func authenticationCode(for data: Data, label: String) throws -> Data {
        try enclave.authenticationCode(for: data, label: label)
    }

    func isValid(_ code: Data, for data: Data, label: String) throws -> Bool {
        try enclave.isValidAuthenticationCode(code, for: data, label: label)
    }

    func protect(_ data: Data, label: String) throws -> Data { try enclave.protect(data, label: label) }

    func unprotect(_ data: Data, label: String) throws -> Data { try enclave.unprotect(data, label: label) }

    func digest(_ data: Data, label: String) throws -> Data { try enclave.digest(data, label: label) }
}
