import Crypto
import Foundation
import SecretMemory

/// The keys of one device, each for one use, all derived from the device secret.
struct DeviceKeys: ~Copyable, Sendable {
    /// The key of the outer layer of wrapped keys and sealed secrets.
    private let blob: SecretBytes
    /// Mixed with the authorization value into the key of the inner layer.
    private let authorization: SecretBytes

    init(_ deviceSecret: borrowing SecretBytes) {
        blob = Self.key(for: "blob", from: deviceSecret)
        authorization = Self.key(for: "authorization", from: deviceSecret)
    }

    private static func key(for use: String, from deviceSecret: borrowing SecretBytes) -> SecretBytes {
        SecretBytes(deviceSecret.derivedKey(label: "ostiary.software-enclave.\(use).v1"))
    }

    /// Wraps `secret` under the authorization and then under the device.
    borrowing func seal(
        _ secret: borrowing SecretBytes, authorization value: borrowing SecretBytes, as content: SoftwareBlob.Content,
        associatedData: Data
    ) throws(EnclaveError) -> Data {
        let innerKey = innerKey(for: value, content: content)
        let inner: Data
        do {
            inner = try unsafe secret.withUnsafeBytes {
                try unsafe SoftwareBlob.box($0, under: innerKey, associatedData: associatedData)
            }
        } catch {
            throw .unavailable(code: 0)
        }
        return try SoftwareBlob.seal(inner, as: content, under: SymmetricKey(blob), associatedData: associatedData)
    }

    /// Undoes ``seal(_:authorization:as:associatedData:)``. Throws ``EnclaveError/unreadable`` when the device's layer
    /// does not open, and ``EnclaveError/refused`` when only the authorization's layer does not.
    borrowing func open(
        _ sealed: Data, authorization value: borrowing SecretBytes, as content: SoftwareBlob.Content,
        associatedData: Data
    ) throws(EnclaveError) -> SecretBytes {
        let inner = try SoftwareBlob.open(
            sealed, as: content, under: SymmetricKey(blob), associatedData: associatedData)
        do {
            var secret = try AES.GCM.open(
                AES.GCM.SealedBox(combined: inner), using: innerKey(for: value, content: content),
                authenticating: associatedData)
            return SecretBytes(taking: &secret)
        } catch {
            throw .refused
        }
    }

    /// HKDF with the authorization value as key material and the device's key as salt. Nobody can compute the result
    /// without both. The value may be empty.
    private borrowing func innerKey(
        for value: borrowing SecretBytes, content: SoftwareBlob.Content
    ) -> SymmetricKey {
        unsafe authorization.withUnsafeBytes { salt in
            unsafe HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(value), salt: salt,
                info: Data("ostiary.software-enclave.inner.v1".utf8) + [content.rawValue], outputByteCount: 32)
        }
    }
}
