package import AccessControl
import DoorSupport
package import Foundation
package import OstiaryClient
package import SSHFormats
package import SSHKeyFiles
package import SecretMemory

/// A private key of SSH that was imported: two items of the doors' group.
///
/// One holds the private half under the key's rule. The other one holds what lists show, asks for nothing and is always there, so that
/// `ssh-add -l` asks nobody on a locked store. What decides, the limits, stands in both: before a question the one in the list counts,
/// and before the signature also the one with the private half.
package enum ImportedKey {
    /// `svce` of the item with the private half.
    package static let privateService = Data("ostiary.ssh.private".utf8)
    /// `svce` of the item in the list.
    package static let publicService = Data("ostiary.ssh.public".utf8)
    private static let version: UInt8 = 1

    // MARK: the item in the list

    /// `gena` of the item in the list: version (1), then each behind its length the public key's blob, the id of the item with the
    /// private half, and the limits' canonical bytes.
    package static func listed(_ publicKey: SSHPublicKey, item: Data, _ constraints: SSHKeyConstraints) -> Data {
        SSHWriter.bytes { writer in
            writer.write(version)
            writer.write(string: publicKey.blob)
            writer.write(string: item)
            writer.write(string: constraints.canonicalBytes)
        }
    }

    /// Reads a listed item.
    ///
    /// - Throws: ``SSHFormatError``, ``CanonicalFormError``.
    static func key(named name: String, listed: Data) throws -> HeldKey {
        var reader = SSHReader(listed)
        guard try reader.readByte() == version else { throw SSHFormatError.unsupported(.flag) }
        let publicKey = try SSHPublicKey(blob: reader.readString(limit: SSHLimits.publicKeyByteCount))
        let item = try reader.readString(limit: 16)
        let constraints = try SSHKeyConstraints(canonicalBytes: Array(reader.readString(limit: constraintByteCount)))
        try reader.finish()
        return HeldKey(name: name, publicKey: publicKey, constraints: constraints, place: .imported(item: item))
    }

    /// The longest canonical bytes of limits: all hosts and namespaces with their longest names.
    private static let constraintByteCount = 64 * 1024

    // MARK: the item with the private half

    /// The data of the item: version (1), then behind their lengths the public key's blob and the limits' canonical bytes, then the
    /// private half as ``SSHPrivateKey/secret`` has it.
    package static func stored(_ key: SSHPrivateKey, _ constraints: SSHKeyConstraints) -> SecretBytes {
        let head = SSHWriter.bytes { writer in
            writer.write(version)
            writer.write(string: key.publicKey.blob)
            writer.write(string: constraints.canonicalBytes)
        }
        return SecretBytes(joining: SecretBytes(head), key.secret)
    }

    /// The private key of an item's data, if it is the one of the list.
    ///
    /// - Throws: ``KeyRefusal/otherKey`` for another key or other limits than in the list, ``SSHFormatError``, ``KeyFileError``.
    package static func key(_ stored: borrowing SecretBytes, for listed: HeldKey) throws -> SSHPrivateKey {
        var reader = SecretReader(SecretBytes(copying: stored))
        guard try reader.readByte() == version else { throw SSHFormatError.unsupported(.flag) }
        let publicKey = try SSHPublicKey(blob: reader.readString(limit: SSHLimits.publicKeyByteCount))
        let constraints = try reader.readString(limit: constraintByteCount)
        guard publicKey == listed.publicKey, constraints.elementsEqual(listed.constraints.canonicalBytes) else {
            throw KeyRefusal.otherKey
        }
        return try SSHPrivateKey(publicKey, secret: reader.rest())
    }

    /// The items of the list, under any name.
    package static func list(in group: String) -> ItemSelection {
        ItemSelection(itemClass: "genp", attributes: ["svce": .data(publicService), "agrp": .text(group)])
    }

    // MARK: changes

    /// Stores a private key as two items of the doors' group. The store must be unlocked for that, which may ask the person.
    ///
    /// - Throws: `duplicate` when there is an imported key of the name, `missingEntitlement` for a program outside of the group.
    package static func store(
        _ key: SSHPrivateKey, _ name: String, _ access: AccessControl, _ constraints: SSHKeyConstraints, _ use: ItemUse
    ) throws -> HeldKey {
        let ostiary = OstiaryClient.shared
        let secret = try ostiary.addItem(
            "genp",
            attributes: attributes(name, privateService, access.availability, "The private half of an SSH key"),
            accessControl: access, data: stored(key, constraints), use: use)
        do {
            var shown = attributes(name, publicService, .always, "An imported SSH key")
            shown["gena"] = .data(listed(key.publicKey, item: secret.id, constraints))
            _ = try ostiary.addItem("genp", attributes: shown, accessControl: .ofList, use: use)
        } catch {
            // A private half without an entry in the list would be used by nobody.
            try ostiary.deleteItems(selection(of: name, privateService))
            throw error
        }
        return HeldKey(
            name: name, publicKey: key.publicKey, constraints: constraints, place: .imported(item: secret.id))
    }

    /// Destroys an imported key; throws `notFound`.
    package static func remove(_ name: String, from ostiary: OstiaryClient) throws {
        try ostiary.deleteItems([selection(of: name, publicService), selection(of: name, privateService)])
    }

    private static func selection(of name: String, _ service: Data) -> ItemSelection {
        ItemSelection(
            itemClass: "genp",
            attributes: [
                "acct": .text(name), "svce": .data(service), "agrp": .text(DoorProgram.accessGroup),
            ])
    }

    private static func attributes(
        _ name: String, _ service: Data, _ availability: AvailabilityClass, _ label: String
    ) -> ItemAttributeValues {
        [
            "acct": .text(name), "svce": .data(service), "agrp": .text(DoorProgram.accessGroup), "labl": .text(label),
            "pdmn": .text(availability == .always ? "dku" : availability == .whenUnlocked ? "aku" : "cku"),
        ]
    }
}

extension AccessControl {
    /// Of the entry in the list: it is always there and asks for nothing, but is never changed.
    fileprivate static let ofList: AccessControl = {
        do {
            return try AccessControl(
                availability: .always,
                requirements: [.create: .unrestricted, .read: .unrestricted, .delete: .unrestricted])
        } catch {
            preconditionFailure("\(error)")
        }
    }()
}
