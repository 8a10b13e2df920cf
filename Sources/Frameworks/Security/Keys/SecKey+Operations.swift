public import Foundation
package import KeyAlgorithms
package import SecretMemory

// MARK: - Apple's functions

/// Whether `key` performs `operation` with `algorithm`. Private keys sign, decrypt and exchange; public ones verify and
/// encrypt.
@discardableResult
public func SecKeyIsAlgorithmSupported(
    _ key: SecKey, _ operation: SecKeyOperationType, _ algorithm: SecKeyAlgorithm
) -> Bool {
    algorithm.keyAlgorithm.map { key.performs(operation.operation, $0) } ?? false
}

/// Signs a message or, if the algorithm says so, a digest. May prompt if the key is in the enclave.
///
/// On failure returns nil and sets `error`: `errSecParam` for an algorithm that the key does not support and for a
/// digest of a wrong length, or the enclave's error.
@discardableResult
public func SecKeyCreateSignature(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ dataToSign: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe reportingErrors(to: error) {
        try key.signature(of: Data(copying: dataToSign), algorithm: algorithm.known()) as CFData
    }
}

/// Whether `signature` is one of the key over `signedData`. If not, `error` is `errSecVerifyFailed`.
@discardableResult
public func SecKeyVerifySignature(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ signedData: CFData, _ signature: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> Bool {
    unsafe reportingErrors(to: error) {
        try key.verify(Data(copying: signature), of: Data(copying: signedData), algorithm: algorithm.known())
    } != nil
}

/// Encrypts for the holder of the private half.
///
/// Nil, and in `error` `errSecParam` for an algorithm that the key does not support and for too long a plaintext.
@discardableResult
public func SecKeyCreateEncryptedData(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ plaintext: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe reportingErrors(to: error) {
        try key.encrypt(Data(copying: plaintext), algorithm: algorithm.known()) as CFData
    }
}

/// Decrypts. May prompt if the key is in the enclave.
///
/// Nil, and in `error` `errSecParam` for an algorithm that the key does not support and for a ciphertext that is not one
/// for this key.
@discardableResult
public func SecKeyCreateDecryptedData(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ ciphertext: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe reportingErrors(to: error) {
        let plaintext = try key.decrypt(Data(copying: ciphertext), algorithm: algorithm.known())
        return Data(exposing: plaintext) as CFData
    }
}

/// Exchanges keys with the holder of the private half of `publicKey`. May prompt if the key is in the enclave.
///
/// `parameters` has the keys of ``SecKeyKeyExchangeParameter``. Nil, and in `error` `errSecParam` for an algorithm that the
/// key does not support, for missing or malformed parameters and for a peer of another curve.
@discardableResult
public func SecKeyCopyKeyExchangeResult(
    _ privateKey: SecKey, _ algorithm: SecKeyAlgorithm, _ publicKey: SecKey, _ parameters: CFDictionary,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe reportingErrors(to: error) {
        let algorithm = try algorithm.known()
        try privateKey.require(.keyExchange, algorithm)
        let parameters = try KeyExchangeParameters(parameters, for: algorithm)
        let result = try privateKey.exchange(with: publicKey, algorithm: algorithm, parameters: parameters)
        return Data(exposing: result) as CFData
    }
}

extension KeyExchangeParameters {
    /// Reads the parameters of a call. An algorithm without key derivation ignores the dictionary.
    fileprivate init(_ dictionary: CFDictionary, for algorithm: KeyAlgorithm) throws {
        if case .keyExchange(kdf: nil, _) = algorithm.kind {
            self.init()
            return
        }
        guard let entries = dictionary as? [AnyHashable: Any] else {
            throw StatusError.parameter("The parameters of the key exchange are malformed.")
        }
        try self.init(entries)
    }
}

// MARK: - The operations

extension SecKey {
    /// Whether the key performs `algorithm`, by itself or with a simpler one.
    package func performs(_ operation: KeyOperation, _ algorithm: KeyAlgorithm) -> Bool {
        switch operation {
        case .sign, .verify: plan(algorithm, operation) != nil
        case .encrypt, .decrypt, .keyExchange: isHalf(for: operation) && backing.supports(operation, algorithm)
        }
    }

    private func isHalf(for operation: KeyOperation) -> Bool {
        operation.usesPrivateKey == (backing.keyClass == .privateKey)
    }

    func require(_ operation: KeyOperation, _ algorithm: KeyAlgorithm) throws(KeyAlgorithmError) {
        guard performs(operation, algorithm) else { throw .unsupportedAlgorithm }
    }

    /// How the key signs or verifies; nil if it does not.
    private func plan(_ algorithm: KeyAlgorithm, _ operation: KeyOperation) -> SignaturePlan? {
        isHalf(for: operation) ? SignaturePlan(algorithm, operation, with: backing) : nil
    }

    package func signature(of input: Data, algorithm: KeyAlgorithm) throws -> Data {
        guard let plan = plan(algorithm, .sign) else { throw KeyAlgorithmError.unsupportedAlgorithm }
        let signature = try backing.signature(of: plan.input(for: input), algorithm: plan.performed)
        return try plan.signature(from: signature)
    }

    package func verify(_ signature: Data, of input: Data, algorithm: KeyAlgorithm) throws {
        guard let plan = plan(algorithm, .verify) else { throw KeyAlgorithmError.unsupportedAlgorithm }
        let input = try plan.input(for: input)
        try backing.verify(plan.performedSignature(from: signature), of: input, algorithm: plan.performed)
    }

    package func encrypt(_ plaintext: Data, algorithm: KeyAlgorithm) throws -> Data {
        try require(.encrypt, algorithm)
        return try backing.encrypt(plaintext, algorithm: algorithm)
    }

    package func decrypt(_ ciphertext: Data, algorithm: KeyAlgorithm) throws -> SecretBytes {
        try require(.decrypt, algorithm)
        return try backing.decrypt(ciphertext, algorithm: algorithm)
    }

    package func exchange(
        with peer: SecKey, algorithm: KeyAlgorithm, parameters: KeyExchangeParameters
    ) throws -> SecretBytes {
        try require(.keyExchange, algorithm)
        guard peer.backing.keyType == .ellipticCurve else { throw KeyAlgorithmError.invalidParameter(.publicKey) }
        let point = try peer.backing.publicKey().externalRepresentation()
        return try backing.exchange(with: point, algorithm: algorithm, parameters: parameters)
    }
}

extension SecKeyAlgorithm {
    /// The parsed algorithm; refuses a string that names none.
    package func known() throws(KeyAlgorithmError) -> KeyAlgorithm {
        guard let algorithm = keyAlgorithm else { throw .unsupportedAlgorithm }
        return algorithm
    }
}
