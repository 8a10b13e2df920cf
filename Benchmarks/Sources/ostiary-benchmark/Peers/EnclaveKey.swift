import Crypto
import Foundation
import LocalAuthentication
import Security

/// An enclave key under an authorized context, as a program that knows nothing but Apple's names uses it.
final class EnclaveKey {
    private let key: SecKey
    private let context = LAContext()
    private let digest: CFData

    /// Asks the person for the passcode.
    init(digest: SHA256.Digest) async throws {
        self.digest = Data(digest) as CFData
        let accessControl = try Self.made {
            SecAccessControlCreateWithFlags(
                nil, kSecAttrAccessibleWhenUnlockedThisDeviceOnly, [.privateKeyUsage, .devicePasscode], $0)
        }
        try await context.evaluateAccessControl(
            accessControl, operation: .useKeySign, localizedReason: "measure signatures")
        let parameters: [String: Any] = [
            kSecAttrKeyType as String: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits as String: 256,
            kSecAttrTokenID as String: kSecAttrTokenIDSecureEnclave,
            kSecUseAuthenticationContext as String: context,
            kSecPrivateKeyAttrs as String: [kSecAttrAccessControl as String: accessControl],
        ]
        key = try Self.made { SecKeyCreateRandomKey(parameters as CFDictionary, $0) }
    }

    func sign() throws {
        _ = try Self.made { SecKeyCreateSignature(key, .ecdsaSignatureDigestX962SHA256, digest, $0) }
    }

    private static func made<Result>(_ call: (UnsafeMutablePointer<Unmanaged<CFError>?>) -> Result?) throws -> Result {
        var error: Unmanaged<CFError>?
        guard let result = call(&error) else { throw error!.takeRetainedValue() }
        return result
    }
}
