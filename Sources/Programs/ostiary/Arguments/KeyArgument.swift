import ArgumentParser
import Foundation
import KeyAlgorithms
import OstiaryClient
import OstiaryMessages

/// The enclave key that a command is about: by the label of its item, or by its id.
struct KeyArgument: ParsableArguments {
    @Argument(help: "The label of the key, or its id. Left out with --id.", transform: Self.checkedLabel)
    var name: String?

    @Option(
        name: .customLong("id"),
        help: ArgumentHelp("The id instead of the label, as the lists show it.", valueName: "id"),
        transform: RightRemove.checkedID)
    var keyID: Data?

    static let missing = ValidationError("Say which key: its label, or --id.")

    /// Refuses text that can be neither label nor id as wrong usage.
    static func checkedLabel(_ text: String) throws -> String {
        guard !text.isEmpty else { throw ValidationError("A key has a label of at least one character.") }
        guard text.utf8.count <= WireLimits.identifierByteCount else {
            throw ValidationError("The label of a key has at most \(WireLimits.identifierByteCount) bytes.")
        }
        return text
    }

    /// The item of the key.
    static func findItem(_ name: String) throws -> StoredItem {
        let byLabel = try KeyItems.matching(["labl": .text(name)])
        guard byLabel.count <= 1 else { throw CommandError.ambiguousKey(name: name) }
        if let item = byLabel.first { return item }
        guard let id = try? RightRemove.checkedID(name),
            let item = try KeyItems.matching([:]).first(where: { $0.keyID == id })
        else {
            throw OstiaryError(.init(.notFound), "There is no key called \(name.quotedName).")
        }
        return item
    }

    /// The key itself.
    func find() throws -> EnclaveKey {
        if let keyID { return try OstiaryClient.shared.key(id: keyID) }
        guard let name else { throw Self.missing }
        return try Self.findItem(name).enclaveKey()
    }
}

/// The items that stand for keys of the enclave.
enum KeyItems {
    static let itemClass = "keys"

    static func matching(_ attributes: ItemAttributeValues) throws -> [StoredItem] {
        var attributes = attributes
        attributes["tkid"] = .text(EnclaveKey.tokenID)
        var items: [StoredItem] = []
        do {
            try OstiaryClient.shared.findItems(
                ItemSelection(itemClass: itemClass, attributes: attributes, synchronizable: .any), limit: nil,
                returningAttributes: true
            ) { item, _ in items.append(item) }
        } catch let error as OstiaryError where error.isFailure(.notFound) { return [] }
        return items
    }
}

extension StoredItem {
    /// The key that the item stands for.
    func enclaveKey() throws -> EnclaveKey {
        guard let keyID else {
            throw OstiaryError(.unexpectedAnswer, "The item of the key does not name it; restart the daemon.")
        }
        return try OstiaryClient.shared.key(id: keyID)
    }
}

extension EnclaveKey {
    /// The public key, refused when it is no point of the curve.
    func verifiedPublicKey() throws -> P256PublicKey {
        do { return try P256PublicKey(x963: publicKey) } catch { throw CommandError.keyAlgorithm(error) }
    }
}
