import Crypto
import Foundation

/// The bytes that the software enclave hands out:
/// `version (1) || enclave kind (1) || content (1) || AES-256-GCM: nonce (12) || ciphertext || tag (16)`.
/// The three header bytes are authenticated before the caller's associated data.
enum SoftwareBlob {
    static let version: UInt8 = 1
    static let headerByteCount = 3

    /// The content of a blob. A blob never opens as another sort. 3 is reserved: records of `StoreKeys` use it.
    enum Content: UInt8, CaseIterable {
        case key = 1
        case secret = 2
    }

    static func seal(
        _ plaintext: Data, as content: Content, under key: SymmetricKey, associatedData: Data
    ) throws(EnclaveError) -> Data {
        let header = header(for: content)
        do {
            return header + (try box(plaintext, under: key, associatedData: header + associatedData))
        } catch {
            throw .unavailable(code: 0)
        }
    }

    static func open(
        _ blob: Data, as content: Content, under key: SymmetricKey, associatedData: Data
    ) throws(EnclaveError) -> Data {
        let header = blob.prefix(headerByteCount)
        guard header.count == headerByteCount, header.first == version else { throw .unreadable }
        guard let kind = EnclaveKind(code: header[header.startIndex + 1]) else { throw .unreadable }
        guard kind == .software else { throw .wrongKind }
        guard header == Self.header(for: content) else { throw .unreadable }
        do {
            return try AES.GCM.open(
                AES.GCM.SealedBox(combined: blob.dropFirst(headerByteCount)), using: key,
                authenticating: header + associatedData)
        } catch {
            throw .unreadable
        }
    }

    /// AES-256-GCM with a fresh nonce: `nonce || ciphertext || tag`.
    static func box(_ plaintext: some DataProtocol, under key: SymmetricKey, associatedData: Data) throws -> Data {
        let box = try AES.GCM.seal(plaintext, using: key, authenticating: associatedData)
        return box.nonce + box.ciphertext + box.tag
    }

    private static func header(for content: Content) -> Data {
        Data([version, EnclaveKind.software.code, content.rawValue])
    }
}
