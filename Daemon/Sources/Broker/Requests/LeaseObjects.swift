import AccessControl
import Auditing
import Authenticators
import Enclave
import ExactNames
import Foundation
import OstiaryMessages
import Owners
import PromptProtocol
import ProtectedObjects
import Refusals
import Sessions
import Vault

/// The objects of a lease that is asked for.
struct LeaseObjects {
    private enum Object {
        case key(RightOpener)
        case item(ItemOpener, name: String)
    }

    private let objects: [Object]
    /// Of all objects together, as far as the lease is for them.
    let operations: Set<AccessControl.Operation>

    init(_ wish: LeaseWish, _ broker: Broker, _ exchange: Exchange) throws {
        let found =
            if let group = wish.group {
                try Self.objects(ofGroup: group, broker, exchange)
            } else {
                try wish.objectIDs.map { try Self.object($0, broker, exchange) }
            }
        guard !found.isEmpty else { throw RightStore.unknownID }
        guard found.count <= WireLimits.leaseObjectCount else { throw Self.tooLargeGroup }
        objects = found
        let permitted = Set(found.flatMap(Self.operations))
        operations = wish.operations.isEmpty ? permitted : permitted.intersection(wish.operations)
        for object in found { try Self.requireLeasable(object, wish, isAlone: found.count == 1) }
    }

    // MARK: finding

    /// Items of a group that are looked at for those that ask for something.
    private static let scannedItemCount = 1024
    private static let tooLargeGroup = LeaseWish.refusal(
        "The group has more objects than the \(WireLimits.leaseObjectCount) of a lease; name them", "objects")

    private static func object(_ id: VaultID, _ broker: Broker, _ exchange: Exchange) throws -> Object {
        let account = exchange.account
        if let object = try broker.vault.read({ try $0.object(id, owner: account.id) }) {
            guard object.kind == .right || object.kind == .enclaveKey else { throw RightStore.unknownID }
            return .key(try broker.opener(of: object, account))
        }
        guard let record = try broker.vault.readItems({ try account.items.readable(id, in: $0) }) else {
            throw RightStore.unknownID
        }
        guard record.keyID == nil else { throw LeaseWish.refusal("The item stands for a key; name the key", "objects") }
        return try item(record, account)
    }

    private static func item(_ record: ItemRecord, _ account: OwnerAccount) throws -> Object {
        let opener = try account.items.opener(record)
        // A closed object is looked at when the person has opened it.
        guard try opener.closedClass == nil else {
            return .item(opener, name: ItemsInQuestion.nameWithoutAttributes(record))
        }
        let attributes = try opener.attributes()
        guard !attributes.isImportedSSHKey else { throw importedSSHKey }
        return .item(opener, name: attributes.shownName)
    }

    /// A lease on such an item would be one for every host and namespace, and over forwarded agents.
    private static let importedSSHKey = Refusal(
        .operationNotPermitted,
        "An imported SSH key gets no lease: the door signs with it, and the daemon does not see for which host. Make a key "
            + "with `ostiary ssh create`.",
        cause: "lease.imported-ssh-key")

    /// The rights and keys of a group, and those of its items that ask for something.
    private static func objects(
        ofGroup group: ExactName, _ broker: Broker, _ exchange: Exchange
    ) throws -> [Object] {
        let account = exchange.account
        let records = try broker.vault.read { reader in
            try [ObjectKind.right, .enclaveKey].flatMap { kind in
                try reader.objectIDs(owner: account.id, kind: kind, group: group)
                    .prefix(WireLimits.leaseObjectCount + 1)
                    .compactMap { try reader.object($0, owner: account.id) }
            }
        }
        let keys = try records.map { Object.key(try broker.opener(of: $0, account)) }
        let query = ItemQuery(
            anyOf: [account.items.digests.term(ofGroup: group)], limit: Self.scannedItemCount)
        let items = try broker.vault.readItems { reader in
            let matches = try reader.items(matching: query, owner: account.id)
            guard matches.count < Self.scannedItemCount else { throw Self.tooLargeGroup }
            return try matches.compactMap { try account.items.readable($0.id, in: reader) }
        }
        return try keys
            + items.compactMap { record in
                let opener = try account.items.opener(record)
                return opener.isProtected ? try item(record, account) : nil
            }
    }

    // MARK: what they permit

    private static func operations(_ object: Object) -> Set<AccessControl.Operation> {
        switch object {
        case .key(let opener): opener.operations
        case .item: [.read]
        }
    }

    private static func accessControl(_ object: Object) -> AccessControl {
        switch object {
        case .key(let opener): opener.accessControl
        case .item(let opener, _): opener.accessControl
        }
    }

    private static func requireLeasable(_ object: Object, _ wish: LeaseWish, isAlone: Bool) throws(Refusal) {
        let accessControl = accessControl(object)
        guard !accessControl.confirmsEachSignature || accessControl.leaseLimits != nil else {
            throw Refusal(
                .operationNotPermitted,
                "An object confirms each signature and permits no lease. Make it again with `--allow-leases`.",
                cause: "lease.not-permitted")
        }
        guard !accessControl.keyRequirement.isUnrestricted else {
            throw LeaseWish.refusal("An object asks for nothing, and needs no lease", "without-question")
        }
        let needsPassword = accessControl.keyRequirement.factors.contains(.applicationPassword)
        guard isAlone || !needsPassword else {
            throw LeaseWish.refusal(
                "An object with a password of its own needs a lease of its own", "application-password")
        }
        guard wish.operations.isEmpty || !operations(object).isDisjoint(with: wish.operations) else {
            throw LeaseWish.refusal("An object permits none of the operations", "operation")
        }
        guard wish.endsOnLock || [.afterFirstUnlock, .always].contains(accessControl.availability) else {
            throw LeaseWish.refusal("An object cannot be used after a lock, so the lease must end with it", "lock")
        }
    }

    var ids: [VaultID] {
        objects.map { object in
            switch object {
            case .key(let opener): opener.object.id
            case .item(let opener, _): opener.record.id
            }
        }
    }

    // MARK: the question

    private var accessControls: [AccessControl] { objects.map(Self.accessControl) }

    func demand(for wish: LeaseWish) throws -> Demand {
        let requirements = zip(objects, accessControls).flatMap { object, accessControl in
            Self.operations(object).intersection(operations).sorted().map { accessControl[$0] }
        }
        let demands = objects.map { object in
            switch object {
            case .key(let opener): opener.demand
            case .item(let opener, let name): opener.demand("", object: name)
            }
        }
        let words = wish.words(for: operations, hasKeyForSSH: hasKeyForSSH)
        var demand = Demand(
            requirements: requirements, availability: availability, object: "",
            operation: "let a program use it without asking", consequence: DisplayText(words),
            applicationPassword: demands.count == 1 ? demands[0].applicationPassword : nil,
            enrolmentIDs: demands.reduce(into: []) { $0.formUnion($1.enrolmentIDs) }, logName: logName,
            isShownInFull: true, isAtTrustedPlace: accessControls.contains(where: \.isAtTrustedPlace))
        demand.objects = PromptObjects(names, noun: .object)
        guard words.unicodeScalars.count <= DisplayText.maximumScalarCount,
            demand.objects?.areAllNamedInFull == true
        else {
            throw Refusal(
                .invalidParameter, "The names do not fit into the prompt, so nothing was asked. Name fewer objects.",
                cause: "lease.unshowable")
        }
        return demand
    }

    /// The class that must be open: of several the one that a lock closes.
    private var availability: AvailabilityClass? {
        let classes = accessControls.map(\.availability)
        return classes.contains(.whenUnlocked) ? .whenUnlocked : classes.first
    }

    /// Whether a key for SSH is among them, whose signatures have destinations.
    private var hasKeyForSSH: Bool {
        objects.contains { object in
            switch object {
            case .key(let opener): opener.sshConstraints != nil
            case .item: false
            }
        }
    }

    private var names: [(fact: String, label: DisplayText)] {
        objects.map { object in
            switch object {
            case .key(let opener): (opener.object.wholeName, opener.shownLabel)
            case .item(_, let name): (name, DisplayText(""))
            }
        }
    }

    private var logName: String { objects.count == 1 ? logName(objects[0]) : "\(objects.count) objects" }

    private func logName(_ object: Object) -> String {
        switch object {
        case .key(let opener): opener.object.attributes.identifier.text
        case .item(let opener, _): opener.record.logName
        }
    }

    // MARK: opening

    func opened(by evaluation: Evaluation, enclave: any Enclave) throws -> [LeasedObject] {
        try objects.map { object in
            switch object {
            case .key(let opener):
                LeasedObject(try opener.opened(by: evaluation, enclave: enclave), of: opener)
            case .item(let opener, let name): try Self.opened(opener, by: evaluation, named: name)
            }
        }
    }

    private static func opened(
        _ opener: ItemOpener, by evaluation: Evaluation, named name: String
    ) throws -> LeasedObject {
        guard try !opener.attributes().isImportedSSHKey else { throw importedSSHKey }
        return LeasedObject(try OpenedItem(opener, by: evaluation), of: opener, named: name)
    }

    /// An object that was removed while the person was asked: its removal has ended the leases that it found, or will.
    func requireStillStored(in broker: Broker, _ exchange: Exchange) throws {
        for object in objects {
            switch object {
            case .key(let opener): try broker.requireStillStored(opener.object.id, exchange)
            case .item(let opener, _):
                let items = exchange.account.items
                let record = try broker.vault.readItems { try items.readable(opener.record.id, in: $0) }
                guard record != nil else { throw ItemStore.notFound }
            }
        }
    }
}
