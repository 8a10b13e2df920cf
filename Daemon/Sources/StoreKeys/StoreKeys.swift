import Crypto
public import Foundation
public import SecretMemory

/// The keys of one store: codes over its rows, keyed digests, and the encryption of its records.
///
/// They are software whatever the enclave is, because a store needs them thousands of times. They come from a root secret that
/// only the enclave gives: it is sealed in the file ``StoreKeysFile`` and unsealed once, at the start.
///
/// `label` says what an operation is for: what was made for one label is worth nothing under another. Calls take
/// microseconds. The keys lie in the library's memory, made ready for use, since keying takes longer than a short code; the
/// library wipes them, but does not keep them out of the swap space.
///
/// Format: `Documentation/formats/store-keys.md`.
public struct StoreKeys: Sendable {
    /// Have taken a key and nothing else; copied for each code.
    private let codes: HMAC<SHA256>
    private let digests: HMAC<SHA256>
    private let record: SymmetricKey

    /// What every record begins with. The same bytes as in a store whose records the software enclave encrypted.
    private static let recordHead = Data([1, 1, 3])

    public init(_ root: borrowing RootSecret) {
        codes = HMAC(key: root.key(.codes))
        digests = HMAC(key: root.key(.digests))
        record = root.key(.records)
    }

    // MARK: codes and digests

    /// A 32-byte code over `message` that only these keys can make.
    public func authenticationCode(for message: Data, label: String) -> Data {
        Data(Self.code(for: message, label, keyed: codes))
    }

    /// Whether `code` is the code of `message`; takes the same time whichever byte differs.
    public func isValid(_ code: Data, for message: Data, label: String) -> Bool {
        Self.code(for: message, label, keyed: codes) == code  // The library compares a code with data in constant time.
    }

    /// A 32-byte digest for what is searched by equality: the same for the same input in this store, and meaningless in any
    /// other.
    public func digest(_ value: Data, label: String) -> Data { Data(Self.code(for: value, label, keyed: digests)) }

    /// HMAC-SHA256 over `UInt16 length of label || label || message`: no label and message can be read as another pair.
    private static func code(for message: Data, _ label: String, keyed: HMAC<SHA256>) -> HMAC<SHA256>.MAC {
        let label = label.utf8
        precondition(label.count <= UInt16.max, "a label is a short constant")
        var code = keyed
        code.update(data: [UInt8(label.count >> 8), UInt8(label.count & 0xff)] + label)
        code.update(data: message)
        return code.finalize()
    }

    // MARK: records

    /// Encrypts and authenticates a record that is private but no secret, such as the names of an object.
    public func protect(_ record: Data, label: String) throws(StoreKeysError) -> Data { try seal(record, label) }

    /// Gives back what ``protect(_:label:)`` took; ``StoreKeysError/unreadable`` when anything does not fit.
    public func unprotect(_ blob: Data, label: String) throws(StoreKeysError) -> Data { try open(blob, label) }

    /// As ``protect(_:label:)``, for a secret that need not be readable before the enclave opened the store.
    public func protect(_ secret: borrowing SecretBytes, label: String) throws(StoreKeysError) -> Data {
        try unsafe secret.withUnsafeBytes { (bytes) throws(StoreKeysError) in try unsafe seal(bytes, label) }
    }

    /// Gives back what ``protect(_:label:)`` took, as a secret.
    public func unprotectSecret(_ blob: Data, label: String) throws(StoreKeysError) -> SecretBytes {
        var secret = try open(blob, label)
        return SecretBytes(taking: &secret)
    }

    private func seal(_ plaintext: some DataProtocol, _ label: String) throws(StoreKeysError) -> Data {
        do {
            let box = try AES.GCM.seal(plaintext, using: record, authenticating: Self.associatedData(label))
            return Self.recordHead + box.nonce + box.ciphertext + box.tag
        } catch {
            throw .libraryFailure
        }
    }

    private func open(_ blob: Data, _ label: String) throws(StoreKeysError) -> Data {
        guard Self.isRecord(blob) else { throw .unreadable }
        do {
            return try AES.GCM.open(
                AES.GCM.SealedBox(combined: blob.dropFirst(Self.recordHead.count)), using: record,
                authenticating: Self.associatedData(label))
        } catch {
            throw .unreadable
        }
    }

    private static func associatedData(_ label: String) -> Data { recordHead + Data(label.utf8) }

    /// Whether `blob` begins as what ``protect(_:label:)`` gives, rather than as something that an enclave sealed.
    public static func isRecord(_ blob: Data) -> Bool { blob.starts(with: recordHead) }
}

/// Why the keys of a store did not do what they were asked.
public enum StoreKeysError: Error, Equatable, Sendable {
    /// A record is damaged, of another store, or was made for another label.
    case unreadable
    /// The library failed where no input can make it fail.
    case libraryFailure
}
