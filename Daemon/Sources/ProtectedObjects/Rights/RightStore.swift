package import AccessControl
package import Enclave
package import ExactNames
package import Foundation
package import KeySlots
import OstiaryMessages
package import OwnerKeys
package import Refusals
package import SecretMemory
package import Vault

/// How many objects there may be. The daemon keeps the list of all of them in memory, at 0.5 to 0.7 kilobytes each.
package struct ObjectLimits: Sendable {
    /// Rights of one owner. A list of them is sorted by name, which takes all of them at once.
    package var rightCount = 20_000
    /// Keys of one owner.
    package var keyCount = 500_000
    /// Keys of one access group that no item refers to, so that no program uses up the keys of all. Items have a limit of
    /// their own.
    package var keyCountOfGroup = 100_000
    /// Passkeys of one owner. Each use reads them all.
    package var passkeyCount = 500
}

/// The rights of the owner, and the enclave keys that back none: making, finding, listing, removing. Making one asks for no factor, because slots are wrapped to
/// public halves; a new application password is the exception and comes in with the request.
package struct RightStore {
    package let vault: Vault
    package let enclave: any Enclave
    package let ring: KeyRing
    package let owner: VaultID
    package let eraser: JournalEraser
    package let enrolment: CurrentEnrolment
    package let digests: ItemDigests
    package var limits = ObjectLimits()
    let share: StoreShare

    package init(
        vault: Vault, enclave: any Enclave, ring: KeyRing, owner: VaultID, eraser: JournalEraser,
        enrolment: CurrentEnrolment, digests: ItemDigests, share: StoreShare
    ) {
        self.vault = vault
        self.enclave = enclave
        self.ring = ring
        self.owner = owner
        self.eraser = eraser
        self.enrolment = enrolment
        self.digests = digests
        self.share = share
    }

    // MARK: making

    /// The parts of a new right or key.
    package struct Draft: ~Copyable {
        package let id: VaultID
        package let kind: ObjectKind
        package let attributes: ObjectAttributes
        package let accessControl: AccessControl
        package let secret: SecretBytes?
        package let applicationPassword: ApplicationPassword?
        let keyType: EnclaveKeyType

        private static func now() -> UInt64 { UInt64(Date().timeIntervalSince1970) }

        /// A right of `application`, or of an access group.
        package static func right(
            _ identifier: ExactName, of application: ExactName, _ accessControl: AccessControl,
            ssh constraints: SSHKeyConstraints? = nil, secret: consuming SecretBytes?,
            applicationPassword: consuming ApplicationPassword?
        ) -> Draft {
            Draft(
                id: VaultID(), kind: .right,
                attributes: ObjectAttributes(
                    group: application, identifier: identifier, applicationLabel: Data(application.utf8),
                    created: now(), sshConstraints: Data(constraints?.canonicalBytes ?? [])),
                accessControl: accessControl, secret: secret, applicationPassword: applicationPassword, keyType: .p256)
        }

        /// An enclave key in an access group.
        package static func key(
            _ type: EnclaveKeyType, in group: ExactName, _ accessControl: AccessControl,
            ssh constraints: SSHKeyConstraints? = nil, shown: Data, applicationPassword: consuming ApplicationPassword?
        ) -> Draft {
            let id = VaultID()
            return Draft(
                id: id, kind: .enclaveKey,
                attributes: ObjectAttributes(
                    group: group, identifier: "\(id)", applicationLabel: shown, created: now(),
                    flags: UInt32(type.rawValue), sshConstraints: Data(constraints?.canonicalBytes ?? [])),
                accessControl: accessControl, secret: nil, applicationPassword: applicationPassword, keyType: type)
        }

        /// A passkey for `relyingParty`.
        ///
        /// - Parameter described: further data of it that the store keeps encrypted.
        package static func passkey(
            of relyingParty: ExactName, _ described: Data, using requirement: Requirement,
            _ availability: AvailabilityClass, secret: consuming SecretBytes
        ) -> Draft {
            let id = VaultID()
            return Draft(
                id: id, kind: .passkey,
                attributes: ObjectAttributes(
                    group: relyingParty, identifier: "\(id)", applicationLabel: described, created: now(),
                    flags: UInt32(EnclaveKeyType.p256.rawValue)),
                accessControl: AccessControl(availability: availability, using: requirement), secret: secret,
                applicationPassword: nil, keyType: .p256)
        }
    }

    /// Makes key and slots and prepares the record. Nothing is stored yet.
    package func prepare(_ draft: borrowing Draft) throws -> ObjectRecord {
        let accessControl = Data(draft.accessControl.canonicalBytes)
        let header = SlotHeader(
            storeID: vault.storeID.bytes, ownerID: owner.bytes, objectID: draft.id.bytes,
            availability: draft.accessControl.availability, accessControl: accessControl,
            accessGroup: draft.attributes.group.text, sshConstraints: draft.attributes.sshConstraints)
        let accessSecret = AccessSecret.random()
        let alternatives = draft.accessControl.keyRequirement.alternatives
        let slots = try SlotSealer.seal(
            accessSecret, alternatives: alternatives, header: header, publicHalves: ring.publicHalf,
            applicationPassword: draft.applicationPassword, enrolmentID: try enrolment.id(for: alternatives))
        let key = try enclave.makeKey(
            draft.keyType, authorization: KeyAuthorization.derived(from: accessSecret),
            binding: try KeyBinding(of: header, accessSecret: accessSecret))
        return ObjectRecord(
            id: draft.id, owner: owner, kind: draft.kind, suite: 1, attributes: draft.attributes,
            accessControl: accessControl, enclaveKind: enclave.kind.code, publicKey: key.publicKey, keyBlob: key.blob,
            payload: try Self.payload(draft.secret, accessSecret: accessSecret, header: header),
            slots: KeySlot.encode(slots))
    }

    private static func payload(
        _ secret: borrowing SecretBytes?, accessSecret: borrowing SecretBytes, header: SlotHeader
    ) throws -> Data? {
        switch secret {
        case .some(let secret): try PayloadCipher.seal(secret, accessSecret: accessSecret, header: header)
        case .none: nil
        }
    }

    /// Stores a prepared right. If a right of that name exists, the call is refused, or with `replacing` destroys that
    /// right in the same transaction. Returns the id of the replaced right.
    package func store(_ record: ObjectRecord, replacing: Bool) throws -> VaultID? {
        let replaced = try vault.write("right.create", irrevocable: replacing ? .withinAllowance : nil) { writer in
            let existing = try writer.object(
                identifier: record.attributes.identifier, group: record.attributes.group, kind: record.kind,
                owner: owner)
            guard let existing else {
                try insert(record, in: writer)
                return nil as VaultID?
            }
            guard replacing else { throw Self.duplicate }
            try Self.requireRemovable(existing)
            try share.keeping(of: owner, in: writer) {
                try writer.removeObject(existing.id, owner: owner)
                try writer.insertObject(record)
            }
            return existing.id
        }
        if replaced != nil { eraser.erase() }
        return replaced
    }

    /// Stores a prepared right or key whose name is free.
    ///
    /// - Parameter hasItem: whether an item that refers to the key is stored in the same transaction.
    package func insert(_ record: ObjectRecord, hasItem: Bool = false, in writer: VaultWriter) throws {
        try requireRoom(for: record, hasItem: hasItem, in: writer)
        try share.keeping(of: owner, in: writer) { try writer.insertObject(record) }
    }

    private func requireRoom(for record: ObjectRecord, hasItem: Bool, in reader: VaultReader) throws {
        let (limit, name) =
            switch record.kind {
            case .right: (limits.rightCount, "rights")
            case .passkey: (limits.passkeyCount, "passkeys")
            case .enclaveKey, .application: (limits.keyCount, "keys")
            }
        guard try reader.objectCount(owner: owner, kind: record.kind) < limit else {
            throw Refusal(
                .tooMany, "The store holds \(limit) \(name), and no more are allowed; remove some.",
                cause: "store.too-many")
        }
        guard record.kind == .enclaveKey, !hasItem else { return }
        guard try !isGroupFull(record.attributes.group, in: reader) else {
            throw Refusal(
                .tooMany,
                "This program keeps \(limits.keyCountOfGroup) keys that no item refers to; remove some. "
                    + "`ostiary key prune` shows and removes unused ones.", cause: "key.too-many")
        }
    }

    /// Whether a group has as many keys without an item as it may have. Only a group that has as many keys in all is looked
    /// through.
    private func isGroupFull(_ group: ExactName, in reader: VaultReader) throws -> Bool {
        guard
            try reader.objectCount(owner: owner, kind: .enclaveKey, group: group) >= limits.keyCountOfGroup
        else { return false }
        return try reader.objectIDs(owner: owner, kind: .enclaveKey, group: group)
            .count { try !hasItem(forKey: $0, in: reader) } >= limits.keyCountOfGroup
    }

    package static let duplicate = Refusal(
        .duplicate, "A right of this name exists already and is kept; remove it first, or ask to replace it.",
        cause: "right.duplicate")

    // MARK: finding

    /// The right of `application`, a program or an access group, that is stored under `identifier`.
    package func find(_ identifier: ExactName, application: ExactName) throws -> ObjectRecord {
        guard
            let object = try vault.read({
                try $0.object(identifier: identifier, group: application, kind: .right, owner: owner)
            })
        else { throw Self.notFound }
        return object
    }

    /// The right with this id in one of `groups`; others count as not found.
    package func find(id: VaultID, groups: [ExactName]) throws -> ObjectRecord {
        try find(id, [.right], in: groups, orElse: Self.notFound)
    }

    /// The key with this id in one of `groups`; others count as not found.
    package func findKey(id: VaultID, groups: [ExactName]) throws -> ObjectRecord {
        try find(id, [.enclaveKey], in: groups, orElse: Self.keyNotFound)
    }

    /// The right or key with this id in one of `groups`, whose programs may use it.
    package func find(id: VaultID, usableBy groups: [ExactName]) throws -> ObjectRecord {
        try find(id, [.right, .enclaveKey], in: groups, orElse: Self.unknownID)
    }

    private func find(
        _ id: VaultID, _ kinds: [ObjectKind], in groups: [ExactName], orElse refusal: Refusal
    ) throws -> ObjectRecord {
        guard let object = try vault.read({ try $0.object(id, owner: owner) }), kinds.contains(object.kind),
            groups.contains(object.attributes.group)
        else { throw refusal }
        return object
    }

    /// An absent object has no kind.
    package static let unknownID = Refusal(.notFound, "There is no key or right of this id.", cause: "right.not-found")

    package static let keyNotFound = Refusal(.notFound, "There is no such key.", cause: "key.not-found")

    package static let notFound = Refusal(.notFound, "There is no right of this name.", cause: "right.not-found")

    /// Rights of one page: each may hold a path of 4,096 bytes and as much of an SSH key's constraints, and a message must stay below
    /// `messageByteCount`.
    package static let pageCount = 25

    /// Some rights of one application, or of all, in the order of their ids. Reads only their rows, and waits for its turn among
    /// the readers of much. A row that does not verify is among the rights of the application that its list names; where
    /// that is not known, among those of each.
    ///
    /// - Parameters:
    ///   - application: nil for all. Then the rows of keys and registrations that do not verify are listed, too, which takes a
    ///     look at each row.
    ///   - last: where the page before ended; nil for the first one.
    package func page(
        application: ExactName?, after last: Data?, as requester: StretchRequester
    ) throws -> VaultReader.ObjectPage {
        try StretchTurns.ofReading.withTurn(as: requester) {
            try vault.read { reader in
                guard let application else {
                    return try reader.objectPage(
                        owner: owner, kind: .right, after: last, count: Self.pageCount, scanning: Self.readCount)
                }
                return try reader.objectPage(
                    owner: owner, kind: .right, group: application, after: last, count: Self.pageCount)
            }
        }
    }

    /// Lends each of the rights that ``page(application:after:as:)`` shows. A request that was ended ends it.
    package func forEach(
        application: ExactName?, as requester: StretchRequester, _ body: (Stored<ObjectRecord>) throws -> Void
    ) throws {
        var last: Data?
        repeat {
            try requester.check()
            let page = try page(application: application, after: last, as: requester)
            try page.objects.forEach(body)
            last = page.next
        } while last != nil
    }

    /// The numbers of these rights, and of the rows among them that do not verify.
    package func counts(
        application: ExactName?, as requester: StretchRequester
    ) throws -> (readable: Int, unreadable: Int) {
        var (readable, unreadable) = (0, 0)
        try forEach(application: application, as: requester) { stored in
            if stored.record == nil { unreadable += 1 } else { readable += 1 }
        }
        return (readable, unreadable)
    }

    /// All of these rights, by name, and then the rows that do not verify.
    package func list(application: ExactName?, as requester: StretchRequester) throws -> [Stored<ObjectRecord>] {
        var stored: [Stored<ObjectRecord>] = []
        try forEach(application: application, as: requester) { stored.append($0) }
        return stored.compactMap(\.record).sorted { Self.place(of: $0) < Self.place(of: $1) }.map(Stored.readable)
            + stored.filter { $0.record == nil }
    }

    /// How many rows are read in one piece where all are read.
    static let readCount = 128

    private static func place(of right: ObjectRecord) -> (ExactName, ExactName) {
        (right.attributes.identifier, right.attributes.group)
    }

    // MARK: removing

    /// The right with this id as ``find(id:groups:)`` finds it, or nil when its row does not verify: then nobody can say
    /// whose it was or what, and any program of the owner may clear it away.
    package func removable(id: VaultID, groups: [ExactName]) throws -> ObjectRecord? {
        do { return try find(id: id, groups: groups) } catch VaultError.corrupt(let reference, _)
            where reference.table == .objects
        { return nil }
    }

    /// Destroys a right, on a full disk too. Its row may be unreadable.
    ///
    /// - Parameter other: removes other rows in the same transaction.
    package func remove(_ id: VaultID, with other: (VaultWriter) throws -> Void = { _ in }) throws {
        do {
            try vault.write("right.remove", usingReserve: true, irrevocable: .withinAllowance) { writer in
                if let object = try Self.readable(id, owner: owner, in: writer) { try Self.requireRemovable(object) }
                try other(writer)
                try writer.removeObject(id, owner: owner)
            }
        } catch VaultError.notFound { throw Self.notFound }
        eraser.erase()
    }

    /// The object, or nil when its row does not verify. The owner of the store may remove such a row.
    package static func readable(_ id: VaultID, owner: VaultID, in reader: VaultReader) throws -> ObjectRecord? {
        do { return try reader.object(id, owner: owner) } catch VaultError.corrupt(let reference, _)
            where reference.table == .objects
        { return nil }
    }

    /// An access control without an entry for deleting permits it to nobody; only removing the passcode, where the right
    /// is bound to it, destroys such a right.
    package static func requireRemovable(_ object: ObjectRecord) throws {
        guard try isRemovable(object) else {
            throw Refusal(
                .operationNotPermitted, "The access control permits nobody to delete the right or key.",
                cause: "right.operation-not-permitted")
        }
    }

    /// The id behind a name, even when the row no longer verifies.
    package func id(of identifier: ExactName, application: ExactName) throws -> VaultID {
        do { return try find(identifier, application: application).id } catch VaultError.corrupt(let reference, _) {
            guard let id = reference.id else { throw Self.notFound }
            return id
        }
    }

    /// Destroys those of the listed rights that are still there, on a full disk too; returns which. When one of them may not be
    /// deleted, none is.
    ///
    /// - Parameter listed: the result of ``list(application:as:)``, which waits for its turn and so comes before `OwnerAccount.changing`.
    package func removeAll(_ listed: [ObjectRecord]) throws -> [ObjectRecord] {
        try listed.forEach(Self.requireRemovable)
        let removed = try vault.write("right.remove-all", usingReserve: true, irrevocable: .withinAllowance) { writer in
            try listed.filter { record in
                do { try writer.removeObject(record.id, owner: owner) } catch VaultError.notFound { return false }
                return true
            }
        }
        eraser.erase()
        return removed
    }
}

extension WireRight {
    /// A verified record as the wire shows it.
    package init(_ record: ObjectRecord, enclave: EnclaveKind) {
        self.init()
        rightID = record.id.bytes
        identifier = record.attributes.identifier.text
        accessControl = record.accessControl
        publicKey = record.publicKey
        hasSecret_p = record.payload != nil
        createdAt = Double(record.attributes.created)
        enclaveKind = enclave.rawValue
        application = record.attributes.group.text
        sshConstraints = record.attributes.sshConstraints
    }

    /// A row that is refused.
    package init(unreadable reference: RowReference, _ fault: RowFault) {
        self.init()
        rightID = reference.key
        unreadableBecause = "\(fault)"
    }
}
