package import Foundation
package import SecretMemory
package import StoreKeys
package import Vault

/// The words by which an owner knows the trusted place. They are private and no secret: whoever knows them can open nothing, but could
/// draw a screen that looks like the place.
package struct OwnerSign: Equatable, Sendable {
    /// As it was typed.
    package let text: String

    /// What every font of a console has. A backslash and quotation marks would be written out.
    private static let characters = UInt8(ascii: " ")...UInt8(ascii: "~")
    private static let excluded: Set<UInt8> = [UInt8(ascii: "\\"), UInt8(ascii: "\"")]
    package static let lengths = 4...48

    /// - Throws: what is wrong with it.
    package init(typed: borrowing SecretBytes) throws(OwnerSignViolation) {
        let bytes = unsafe typed.withUnsafeBytes { unsafe Array($0) }
        guard Self.lengths.contains(bytes.count) else { throw .length }
        guard bytes.allSatisfy({ Self.characters.contains($0) && !Self.excluded.contains($0) }) else {
            throw .character
        }
        let words = bytes.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard words.allSatisfy({ !$0.isEmpty }) else { throw .spaces }
        text = String(decoding: bytes, as: UTF8.self)
    }

    fileprivate init(stored text: String) { self.text = text }
}

/// Why a text is no sign.
package enum OwnerSignViolation: Error, Equatable, Sendable {
    case length, character, spaces

    /// For the person who types it.
    package var sentence: String {
        switch self {
        case .length: "A sign has \(OwnerSign.lengths.lowerBound) to \(OwnerSign.lengths.upperBound) characters."
        case .character: "A sign has only letters from a to z, digits, spaces and simple signs."
        case .spaces: "A sign has single spaces, between words."
        }
    }
}

/// The row of the store that holds an owner's sign, encrypted with the store's keys: it can be read while the owner's keys are locked,
/// because the question for the passcode shows it. As ``BiometryRecordStorage``, it lies among the counters of wrong tries.
package struct OwnerSignStorage: Sendable {
    private let vault: Vault
    private let owner: VaultID
    private let keys: StoreKeys
    /// The key of the row.
    package static let subject = Data("sign".utf8)
    /// The first byte of a record.
    private static let version: UInt8 = 1

    package init(vault: Vault, owner: VaultID, keys: StoreKeys) {
        (self.vault, self.owner, self.keys) = (vault, owner, keys)
    }

    private var label: String { "ostiary.owner-sign.v1.\(owner)" }

    /// Nil when none was set.
    ///
    /// - Throws: when the row does not verify or cannot be read; that is no owner without a sign.
    package func load() throws -> OwnerSign? {
        guard let row = try vault.read({ try $0.attempts(owner: owner, subject: Self.subject) }) else { return nil }
        let record = try keys.unprotect(row.delayState, label: label)
        guard record.first == Self.version,
            let text = String(validating: record.dropFirst(), as: UTF8.self),
            OwnerSign.lengths.contains(text.utf8.count)
        else { throw OwnerSignError.unknownForm }
        return OwnerSign(stored: text)
    }

    /// On disk when this returns.
    package func save(_ sign: OwnerSign) throws {
        let record = try keys.protect(Data([Self.version]) + Data(sign.text.utf8), label: label)
        try vault.write("sign") { writer in
            try writer.setAttempts(
                AttemptRecord(owner: owner, subject: Self.subject, failedCount: 0, delayState: record))
        }
    }
}

enum OwnerSignError: Error { case unknownForm }
