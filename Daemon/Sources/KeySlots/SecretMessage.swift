import Crypto
import Foundation
import SecretMemory

/// AES-256-GCM over a secret, with a fresh nonce: `nonce (12) || ciphertext || tag (16)`.
enum SecretMessage {
    static func seal(
        _ secret: borrowing SecretBytes, under key: SymmetricKey, associatedData: Data
    ) throws(SlotError) -> Data {
        do {
            let box = try unsafe secret.withUnsafeBytes {
                try unsafe AES.GCM.seal($0, using: key, authenticating: associatedData)
            }
            return box.nonce + box.ciphertext + box.tag
        } catch {
            throw .libraryFailure
        }
    }

    static func open(_ message: Data, under key: SymmetricKey, associatedData: Data) throws(SlotError) -> SecretBytes {
        do {
            var secret = try AES.GCM.open(
                AES.GCM.SealedBox(combined: message), using: key, authenticating: associatedData)
            return SecretBytes(taking: &secret)
        } catch {
            throw .refused
        }
    }
}
