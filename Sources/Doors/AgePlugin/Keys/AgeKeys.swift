package import AccessControl
import CommandFailures
import DoorSupport
import Foundation
package import OstiaryClient
import OstiaryMessages
import SecretMemory

/// A key of the owner's to which files can be encrypted.
package struct AgeKey: Sendable, Equatable {
    /// The label of its keychain items. Any program of the doors' group can have written it.
    package let name: String
    package let recipient: AgeRecipient
    package let identity: AgeIdentity
    package let accessControl: AccessControl
    /// `software` or `tpm`.
    package let enclaveKind: String
}

/// Makes and lists the owner's keys for age, which lie in the group that doors have in common.
///
/// A key is one for P-256, or one for P-256 and one for ML-KEM-768, which have a tag in common. Each has a keychain item with the name.
package struct AgeKeys: Sendable {
    private let client: OstiaryClient

    package init(_ client: OstiaryClient = .shared) { self.client = client }

    // MARK: making

    /// Makes a key that does nothing but agree on secrets, under `requirement`.
    ///
    /// - Throws: `ageKeyExists` for a name that is taken, and what the daemon says.
    package func generate(
        _ name: String, _ kind: TaggedKind, _ requirement: Requirement, _ limits: GrantLimits?
    ) throws -> AgeKey {
        try inGroup { try made(name, kind, requirement, limits) }
    }

    private func made(
        _ name: String, _ kind: TaggedKind, _ requirement: Requirement, _ limits: GrantLimits?
    ) throws -> AgeKey {
        guard try !list().contains(where: { $0.name == name }) else { throw Self.nameTaken }
        let accessControl = try AccessControl(
            availability: .whenUnlocked,
            requirements: [.create: .unrestricted, .keyExchange: requirement, .delete: .unrestricted], limits: limits)
        let tag = Tag(kind)
        let curve = try add(.p256, name, tag, accessControl)
        guard kind == .hybrid else { return try key(name, curve, nil) }
        do {
            return try key(name, curve, try add(.mlKEM768, name, tag, accessControl))
        } catch {
            // A half of a key is no use, and would stay without a name that somebody looks for.
            try client.deleteItems(ItemSelection(itemClass: Self.itemClass, attributes: ["atag": .data(tag.bytes)]))
            throw error
        }
    }

    private func add(
        _ kind: EnclaveKeyKind, _ name: String, _ tag: Tag, _ accessControl: AccessControl
    ) throws -> EnclaveKey {
        let key = try client.createKey(
            kind, accessControl: accessControl, accessGroup: DoorProgram.accessGroup, awaitsItem: true,
            use: ItemUse(interaction: Interaction(reason: "choose the application password of the new key")))
        var attributes = key.itemAttributes
        attributes["labl"] = .text(name)
        attributes["pdmn"] = .text("dk")
        attributes["agrp"] = .text(DoorProgram.accessGroup)
        attributes["atag"] = .data(tag.bytes)
        // The rule is kept with the key. The key's item can always be read.
        _ = try client.addItem(
            Self.itemClass, attributes: attributes,
            accessControl: AccessControl(availability: .always, using: .unrestricted), keyID: key.id)
        return key
    }

    // MARK: listing

    /// The keys, by name. Asks nobody. An item whose key is gone, and half of a hybrid key, are left out.
    package func list() throws -> [AgeKey] {
        var found: [Tag: [(name: String, key: EnclaveKey)]] = [:]
        for item in try items() {
            guard case .data(let bytes)? = item.attributes["atag"], let tag = Tag(bytes),
                case .text(let name)? = item.attributes["labl"], let id = item.keyID, let key = try key(id)
            else { continue }
            found[tag, default: []].append((name, key))
        }
        return try found.flatMap { Self.pairs($0.key, $0.value) }.map { try key($0, $1, $2) }.sorted {
            $0.name < $1.name
        }
    }

    private typealias Pair = (name: String, curve: EnclaveKey, lattice: EnclaveKey?)

    /// Keys of one tag: that of all keys for P-256 alone, or that of one hybrid key.
    private static func pairs(_ tag: Tag, _ members: [(name: String, key: EnclaveKey)]) -> [Pair] {
        let curves = members.filter { $0.key.kind == .p256 }
        guard tag.isHybrid else { return curves.map { ($0.name, $0.key, nil) } }
        let lattices = members.filter { $0.key.kind == .mlKEM768 }
        guard curves.count == 1, lattices.count == 1 else { return [] }
        return [(curves[0].name, curves[0].key, lattices[0].key)]
    }

    private func items() throws -> [StoredItem] {
        let selection = ItemSelection(
            itemClass: Self.itemClass,
            attributes: ["tkid": .text(EnclaveKey.tokenID), "agrp": .text(DoorProgram.accessGroup)],
            synchronizable: .any)
        var items: [StoredItem] = []
        do {
            try inGroup {
                try client.findItems(selection, limit: nil, returningAttributes: true) { item, _ in items.append(item) }
            }
        } catch let error as OstiaryError where error.isFailure(.notFound) { return [] }
        return items
    }

    /// A program that nobody registered is in no group but its own.
    private func inGroup<Result>(_ work: () throws -> Result) throws -> Result {
        do { return try work() } catch let error as OstiaryError where error.isFailure(.missingEntitlement) {
            throw Self.unregistered
        }
    }

    /// Nil when it was removed meanwhile.
    private func key(_ id: Data) throws -> EnclaveKey? {
        do { return try client.key(id: id) } catch let error as OstiaryError where error.isFailure(.notFound) {
            return nil
        }
    }

    private func key(_ name: String, _ curve: EnclaveKey, _ lattice: EnclaveKey?) throws -> AgeKey {
        guard let point = TaggedPoint(uncompressed: curve.publicKey) else { throw Self.unusable }
        return AgeKey(
            name: name, recipient: AgeRecipient(point, latticeKey: lattice?.publicKey),
            identity: AgeIdentity(curveKey: curve.id, latticeKey: lattice?.id, point: point),
            accessControl: curve.accessControl, enclaveKind: curve.enclaveKind)
    }

    private static let itemClass = "keys"

    /// The application tag of the items: which keys are age's, and which two of them belong together.
    private struct Tag: Hashable {
        private static let curve = Data("org.ostiary.age".utf8)
        private static let hybrid = Data("org.ostiary.age.hybrid.".utf8)
        let bytes: Data
        var isHybrid: Bool { bytes != Self.curve }

        /// A new one for a hybrid key, and for others that of all.
        init(_ kind: TaggedKind) {
            bytes = kind == .p256 ? Self.curve : Self.hybrid + Data(exposing: SecretBytes(random: 16))
        }

        /// Nil for a tag of another program's keys.
        init?(_ bytes: Data) {
            guard bytes == Self.curve || bytes.starts(with: Self.hybrid) && bytes.count == Self.hybrid.count + 16 else {
                return nil
            }
            self.bytes = bytes
        }
    }

    // MARK: failures

    private static let nameTaken = DoorFailure(
        -177, FailureClass("ageKeyExists", .failed),
        "There is a key of this name already; it is kept. Give another one with --name, or write the identity of the old one "
            + "with --identity.")

    private static let unregistered = DoorFailure(
        -182, FailureClass("ageNotRegistered", .refused),
        "This program is not registered as a door, so it has no part in the keys of doors. Nothing was done; "
            + "`ostiary doors register` registers it.")

    private static let unusable = DoorFailure(
        -178, FailureClass("ageKeyUnusable", .failed),
        "The daemon named a public key that is none. Nothing was done; `ostiary doctor` may say more.")
}
