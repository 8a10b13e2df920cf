import Crypto
import Foundation
import SecretMemory

/// One HPKE message (RFC 9180, base mode) to a public half.
///
/// Base mode authenticates nobody: everybody who has the public half can make an envelope that opens, with any
/// associated data. So trust the content only if the authentication code of its row was verified.
struct HybridEnvelope {
    let encapsulatedKey: Data
    var ciphertext: Data

    /// The purpose of an envelope. It is the HPKE `info`, so that one kind is never opened as another.
    enum Purpose: String {
        case slot = "ostiary.slot.v1"
        case privateHalf = "ostiary.private-half.v1"
    }

    init(encapsulatedKey: Data, ciphertext: Data) {
        self.encapsulatedKey = encapsulatedKey
        self.ciphertext = ciphertext
    }

    /// Encrypts `content` to `recipient`.
    init(
        sealing content: borrowing SecretBytes, to recipient: PublicHalf, purpose: Purpose, associatedData: Data
    ) throws(SlotError) {
        let key = try recipient.key()
        var sender: HPKE.Sender
        do {
            sender = try HPKE.Sender(
                recipientKey: key, ciphersuite: KeySuite.hpke, info: Data(purpose.rawValue.utf8))
        } catch {
            throw .invalidPublicHalf(recipient.role)  // The size is right, but the bytes are no public key.
        }
        encapsulatedKey = sender.encapsulatedKey
        do {
            ciphertext = try unsafe content.withUnsafeBytes {
                try unsafe sender.seal($0, authenticating: associatedData)
            }
        } catch {
            throw .libraryFailure
        }
    }

    /// Decrypts, or throws ``SlotError/refused`` for every mismatch.
    func open(with half: PrivateHalf, purpose: Purpose, associatedData: Data) throws(SlotError) -> SecretBytes {
        let key = try half.key()
        do {
            var recipient = try HPKE.Recipient(
                privateKey: key, ciphersuite: KeySuite.hpke, info: Data(purpose.rawValue.utf8),
                encapsulatedKey: encapsulatedKey)
            var content = try recipient.open(ciphertext, authenticating: associatedData)
            return SecretBytes(taking: &content)
        } catch {
            throw .refused
        }
    }
}
