import AccessControl
import Auditing
import Authenticators
import Callers
import Enclave
import ExactNames
import Foundation
import KeySlots
import OstiaryMessages
import OwnerKeys
import Owners
import PromptProtocol
import ProtectedObjects
import Refusals
import SecretMemory
import Sessions
import Vault

/// Making, finding, listing and removing rights, and what their opened keys do.
extension Broker {
    func createRight(_ body: WireCreateRightRequest, _ exchange: Exchange) throws -> Reply {
        try Self.validate(identifier: body.identifier)
        let accessControl = try AccessControl(canonicalBytes: Array(body.accessControl))
        try exchange.account.requireUsable(accessControl, ofKey: .p256)
        let constraints = try sshConstraints(body.sshConstraints, accessControl)
        if accessControl.confirmsEachSignature || constraints != nil { try Self.requireConfirmable(body) }
        let group = try Self.group(body.accessGroup, exchange)
        if !body.replace { try requireFree(ExactName(body.identifier), in: group, exchange) }
        let password = try newApplicationPassword(accessControl, object: body.identifier, operation: "right", exchange)
        {
            try exchange.asking(body.question)
        }
        let secret = body.hasSecret_p ? SecretBytes(copying: exchange.request.tail) : nil as SecretBytes?
        let created = exchange.event("create", object: body.identifier)
        let draft = RightStore.Draft.right(
            ExactName(body.identifier), of: group, accessControl, ssh: constraints, secret: secret,
            applicationPassword: password)
        let record = try make(draft, replacing: body.replace, for: exchange, recordedAs: created)
        return Reply(.right(WireRight(record, enclave: enclave.kind)))
    }

    /// Makes and stores a right or key, ends the grants on the one that it replaces, and records both the beginning and the end.
    func make(
        _ draft: borrowing RightStore.Draft, replacing: Bool, for exchange: Exchange,
        recordedAs created: AuditTrail.Event
    ) throws -> ObjectRecord {
        try exchange.verifyCaller()
        return try exchange.account.make(draft) { record in
            try exchange.trail.change(created)
            if let replaced = try exchange.account.rights.store(record, replacing: replacing) {
                // The name is the new one's, too. The id comes first, since a long name is cut.
                let name = "\(replaced) \(created.object)"
                exchange.trail.end(exchange.event("remove", object: name, operation: created.name)) {
                    sessions.endGrants(on: replaced, of: exchange.account)
                }
            }
            exchange.trail.note(created)
        }
    }

    private static func validate(identifier: String) throws(Refusal) {
        guard 1...WireLimits.identifierByteCount ~= identifier.utf8.count else {
            throw Refusal(
                .invalidParameter, "A right's name has 1 to \(WireLimits.identifierByteCount) bytes.",
                cause: "right.name")
        }
        guard !identifier.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw Refusal(.invalidParameter, "A right's name holds no control characters.", cause: "right.name")
        }
    }

    private static func requireConfirmable(_ body: WireCreateRightRequest) throws(Refusal) {
        guard !body.hasSecret_p else {
            throw Refusal(
                .invalidParameter,
                "A right that confirms each signature, or is for SSH, only signs; it keeps no secret.",
                cause: "right.confirmed-secret")
        }
        guard DisplayText(wholeFact: body.identifier) != nil else {
            throw Refusal(
                .invalidParameter,
                "The name of a right that confirms each signature, or is for SSH, must fit into the question; take a "
                    + "shorter one.",
                cause: "right.name")
        }
    }

    /// The limits of a right or key for SSH alone; nil where a request gives none.
    func sshConstraints(
        _ bytes: Data, _ accessControl: AccessControl
    ) throws -> SSHKeyConstraints? {
        guard !bytes.isEmpty else { return nil }
        guard accessControl[.sign] != nil else {
            throw Refusal(
                .invalidRule, "A right or key for SSH signs, and its rule permits no signature. Permit one.",
                cause: "rule.ssh-without-signature")
        }
        return try SSHKeyConstraints(canonicalBytes: Array(bytes))
    }

    /// The group that a request names, which must be one of the program's; without a name the program alone.
    private static func group(_ name: String, _ exchange: Exchange) throws(Refusal) -> ExactName {
        guard !name.isEmpty else { return exchange.application }
        return try AccessGroups(exchange.accessGroups).home(ExactName(name))
    }

    private func requireFree(_ identifier: ExactName, in group: ExactName, _ exchange: Exchange) throws {
        do {
            _ = try exchange.account.rights.find(identifier, application: group)
        } catch let refusal as Refusal where refusal.code == .notFound { return }
        throw RightStore.duplicate
    }

    /// Asks for the application password of a new object, twice; nil when its rule names none. One that the program gave is
    /// not taken for a right, since the person must know it; it is for a key or item, as on Apple's systems.
    func newApplicationPassword(
        _ accessControl: AccessControl, object: String, operation: String, _ exchange: Exchange,
        given: Credential? = nil, asking: () throws -> Asking
    ) throws -> ApplicationPassword? {
        guard accessControl.keyRequirement.factors.contains(.applicationPassword) else { return nil }
        let parameters = ApplicationPasswordParameters()
        let stretched: SecretBytes
        if let given {
            stretched = try parameters.stretch(given.bytes, by: exchange.account.stretching, as: exchange.requester)
        } else {
            let chosen = try newSecret(
                .newApplicationPassword, repeated: .repeatApplicationPassword, object: object,
                operation: "protect a new \(operation) with a password", asking: asking())
            stretched = try parameters.stretch(chosen, by: exchange.account.stretching, as: exchange.requester)
        }
        return ApplicationPassword(stretchedKey: stretched, parameters: parameters.bytes)
    }

    // MARK: finding and removing

    func findRight(_ body: WireFindRightRequest, _ exchange: Exchange) throws -> Reply {
        let object = try exchange.account.rights.find(
            ExactName(body.identifier), application: Self.group(body.accessGroup, exchange))
        try exchange.verifyCaller()
        return Reply(.right(WireRight(object, enclave: enclave.kind)))
    }

    func listRights(_ body: WireListRightsRequest, _ exchange: Exchange) throws -> Reply {
        let application = body.ofAllApplications ? nil : try Self.group(body.accessGroup, exchange)
        let page = try exchange.account.rights.page(
            application: application, after: body.cursor.isEmpty ? nil : body.cursor, as: exchange.requester)
        try exchange.verifyCaller()
        return Reply(
            .rights(
                .with {
                    $0.rights = page.objects.map { stored in
                        switch stored {
                        case .readable(let record): WireRight(record, enclave: enclave.kind)
                        case .unreadable(let reference, let fault): WireRight(unreadable: reference, fault)
                        }
                    }
                    $0.next = page.next ?? Data()
                }))
    }

    func removeRight(_ body: WireRemoveRightRequest, _ exchange: Exchange) throws -> Reply {
        let application = try Self.group(body.accessGroup, exchange)
        let id: VaultID
        var name = body.identifier
        switch body.which {
        case .identifier(let identifier)?:
            id = try exchange.account.rights.id(of: ExactName(identifier), application: application)
        case .rightID(let bytes)?:
            guard let named = VaultID(bytes: bytes) else { throw RightStore.notFound }
            id = named
            guard try !exchange.account.applications.isLostRow(named) else { throw Self.rowOfRegistration }
            name =
                try exchange.account.rights.removable(id: named, groups: exchange.accessGroups)?.attributes.identifier
                .text
                ?? "\(named)"
        case nil: throw Refusal(.malformed, "The request names no right.")
        }
        try exchange.verifyCaller()
        try exchange.account.changing.withLock { try exchange.account.rights.remove(id) }
        exchange.trail.end(exchange.event("remove", object: name)) { sessions.endGrants(on: id, of: exchange.account) }
        return Reply(.done(.with { $0.count = 1 }))
    }

    private static let rowOfRegistration = Refusal(
        .operationNotPermitted,
        "The row is the registration of a program, and does not verify. Register the program again with `ostiary app "
            + "register`: that asks you, and takes the row's place.", cause: "application.lost")

    func removeAllRights(_ exchange: Exchange) throws -> Reply {
        try exchange.verifyCaller()
        let rights = exchange.account.rights
        let listed = try rights.list(application: exchange.application, as: exchange.requester).compactMap(\.record)
        try exchange.verifyCaller()
        let removed = try exchange.account.changing.withLock { try rights.removeAll(listed) }
        noteDestruction(of: removed, by: "remove-all", exchange)
        // A program can repeat a removal of nothing as often as it wants.
        if !removed.isEmpty { exchange.trail.note(exchange.event("remove-all")) }
        return Reply(.done(.with { $0.count = UInt32(clamping: removed.count) }))
    }

    /// Ends the grants on objects that a request destroyed together, and names each in the log.
    func noteDestruction(of objects: [ObjectRecord], by request: String, _ exchange: Exchange) {
        for object in objects {
            exchange.trail.end(exchange.event("remove", object: object.attributes.identifier.text, operation: request))
            {
                sessions.endGrants(on: object.id, of: exchange.account)
            }
        }
    }

    /// Records items that a request destroyed along with something else, as those that are deleted.
    func noteDestruction(of items: [some LoggedItem], by request: String, _ exchange: Exchange) {
        guard !items.isEmpty else { return }
        exchange.trail.note(exchange.event("item-delete", object: items.logName, operation: request))
    }

    // MARK: uses

    /// One use of an authorized right: the operation, then the caller once more, then whether the authorization still stands and
    /// has a use left, together with the record, then the answer. A lock or removal during the operation wins. The use counts
    /// before it is recorded, so a record that cannot be written costs a use.
    ///
    /// - Parameters:
    ///   - destination: as of ``LeasedUse/init(_:at:offered:_:)``, for an object that is authorized under a lease.
    ///   - isForSSHKeys: whether a right or key for SSH alone may be used so.
    ///   - purpose: what the authorization must be for.
    func use(
        _ contextID: UInt64, _ rightID: Data, _ operation: AccessControl.Operation, _ exchange: Exchange,
        recordedAs event: AuditTrail.Event? = nil, at destination: LeaseDestination = .none,
        isForSSHKeys: Bool = false, for purpose: GrantPurpose = .anything, _ work: (OpenedRight) throws -> SecretBytes
    ) throws -> Reply {
        guard let id = VaultID(bytes: rightID) else { throw RightStore.notFound }
        let context = try exchange.contexts.context(contextID)
        if context.isLeased(id, for: purpose) {
            var leased = LeasedUse(operation, at: destination, exchange)
            if let held = leased.find(id), case .key(let right) = held.opened, right.operations.contains(operation) {
                guard isForSSHKeys || right.sshConstraints == nil else { throw Self.signsForSSHOnly }
                return try use(
                    right, under: held, exchange, recordedAs: event ?? exchange.event(operation.name), work)
            }
            if let refusal = leased.refusal { throw refusal }
        }
        let right = try context.right(id, for: operation, as: purpose)
        guard isForSSHKeys || right.sshConstraints == nil else { throw Self.signsForSSHOnly }
        let result = try work(right)
        try exchange.verifyCaller()
        try exchange.trail.decide {
            try context.use(right)
            try exchange.trail.use(
                event?.about(right.identifier) ?? exchange.event(operation.name, object: right.identifier),
                factors: right.factorNames, strength: right.strength)
            exchange.account.keyUses.note(id)
        }
        return .payload(result)
    }
}
