import Crypto
public import Foundation
public import SecretMemory

/// The keys of one store: codes over its rows, keyed digests, and the encryption of its records.
///
/// They always work in software, because a store needs them thousands of times. They come from a root secret that only
/// the enclave can unseal. It lies sealed in the file ``StoreKeysFile`` and is unsealed once, at the start.
///
/// `label` names the purpose of an operation; a result for one label is useless under another. Calls take microseconds.
/// The keys lie in the library's memory, ready for use, because preparing a key takes longer than a short code. The
/// library wipes them, but does not keep them out of the swap space.
///
/// Format: `Documentation/formats/store-keys.md`.
public struct StoreKeys: Sendable {
    private let codes: KeyedDigest
    private let digests: KeyedDigest
    private let record: SymmetricKey

    /// The first bytes of every record.
    private static let recordHead = Data([1, 1, 3])

    public init(_ root: borrowing RootSecret) {
        codes = KeyedDigest(key: root.key(.codes))
        digests = KeyedDigest(key: root.key(.digests))
        record = root.key(.records)
    }

    // MARK: codes and digests

    /// A 32-byte code over `message` that only these keys can make.
    public func authenticationCode(for message: Data, label: String) -> Data {
        Self.code(for: message, label, keyed: codes)
    }

    /// Whether `code` is the code of `message`; takes the same time whichever byte differs.
    public func isValid(_ code: Data, for message: Data, label: String) -> Bool {
        unsafe code.withUnsafeBytes { code in
            unsafe message.withUnsafeBytes { unsafe codes.isValid(code, over: Self.head(label), $0) }
        }
    }

    /// A 32-byte digest for searching by equality: always the same for the same input in this store, and meaningless in
    /// any other. It is the only copy: some digests are secrets, which their users wipe.
    public func digest(_ value: Data, label: String) -> Data { Self.code(for: value, label, keyed: digests) }

    private static func code(for message: Data, _ label: String, keyed: KeyedDigest) -> Data {
        var code = Data(count: KeyedDigest.byteCount)
        unsafe code.withUnsafeMutableBytes { code in
            unsafe message.withUnsafeBytes { unsafe keyed.writeCode(over: head(label), $0, to: code) }
        }
        return code
    }

    /// What stands before a message: `UInt16 length of label || label`. So two different pairs never give the same input.
    private static func head(_ label: String) -> [UInt8] {
        let label = label.utf8
        precondition(label.count <= UInt16.max, "a label is a short constant")
        return [UInt8(label.count >> 8), UInt8(label.count & 0xff)] + label
    }

    // MARK: records

    /// Encrypts and authenticates a record that is private but not secret, such as the names of an object.
    public func protect(_ record: Data, label: String) throws(StoreKeysError) -> Data { try seal(record, label) }

    /// Decrypts a record of ``protect(_:label:)``; throws ``StoreKeysError/unreadable`` when anything does not fit.
    public func unprotect(_ blob: Data, label: String) throws(StoreKeysError) -> Data { try open(blob, label) }

    /// Like ``protect(_:label:)``, for a secret that nobody reads before the enclave has opened the store.
    public func protect(_ secret: borrowing SecretBytes, label: String) throws(StoreKeysError) -> Data {
        try unsafe secret.withUnsafeBytes { (bytes) throws(StoreKeysError) in try unsafe seal(bytes, label) }
    }

    /// Decrypts a record of ``protect(_:label:)`` as a secret.
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
        guard blob.starts(with: Self.recordHead) else { throw .unreadable }
        do {
            return try AES.GCM.open(
                AES.GCM.SealedBox(combined: blob.dropFirst(Self.recordHead.count)), using: record,
                authenticating: Self.associatedData(label))
        } catch {
            throw .unreadable
        }
    }

    private static func associatedData(_ label: String) -> Data { recordHead + Data(label.utf8) }
}

/// Why the keys of a store did not do their work.
public enum StoreKeysError: Error, Equatable, Sendable {
    /// A record is damaged, of another store, or was made for another label.
    case unreadable
    /// The library failed although no input can cause that.
    case libraryFailure
}
