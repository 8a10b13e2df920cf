public import Foundation

/// The cryptography that the vault uses. The daemon supplies it with the store's keys.
///
/// `label` names the purpose of the operation; different labels mean different keys. Calls block.
public protocol RecordProtector: Sendable {
    /// A code over `data` that only the holder of the key can make.
    func authenticationCode(for data: Data, label: String) throws -> Data
    /// Whether `code` is the code of `data`, compared in constant time. Throws only if it cannot be computed.
    func isValid(_ code: Data, for data: Data, label: String) throws -> Bool
    /// `data`, encrypted and authenticated under a fresh nonce.
    func protect(_ data: Data, label: String) throws -> Data
    /// The data that was given to ``protect(_:label:)``.
    func unprotect(_ data: Data, label: String) throws -> Data
    /// A keyed digest: equal for equal data, meaningless without the key. 32 bytes.
    func digest(_ data: Data, label: String) throws -> Data
}

/// The purposes for which the vault calls its protector.
enum ProtectionLabel {
    static let row = "ostiary.vault.row"
    static let attributes = "ostiary.vault.attributes"
    static let name = "ostiary.vault.name"
    static let group = "ostiary.vault.group"
    static let list = "ostiary.vault.list"
}
