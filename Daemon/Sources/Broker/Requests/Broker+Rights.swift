import AccessControl
import Auditing
import Authenticators
import Callers
import Enclave
import ExactNames
import Foundation
import KeySlots
import OstiaryWire
import OwnerKeys
import Prompting
import ProtectedObjects
import Refusals
import SecretMemory
import Vault

/// Making, finding, listing and removing rights, and what their opened keys do.
extension Broker {
    func createRight(
        _ body: WireCreateRightRequest, _ request: IncomingRequest, _ session: Session,
        _ cancellation: RequestCancellation?
    ) throws -> Reply {
        try Self.validate(identifier: body.identifier)
        let accessControl = try AccessControl(canonicalBytes: Array(body.accessControl))
        try session.account.requireUsable(accessControl, isOfRight: true)
        if accessControl.confirmsEachSignature { try Self.requireConfirmable(body) }
        if !body.replace { try requireFree(ExactName(body.identifier), session) }
        let password = try newApplicationPassword(accessControl, object: body.identifier, operation: "right", session) {
            try asking(body.question, request, session, cancellation)
        }
        let secret = body.hasSecret_p ? SecretBytes(copying: request.tail) : nil as SecretBytes?
        let created = event("create", session, object: body.identifier)
        let draft = RightStore.Draft.right(
            ExactName(body.identifier), of: session.caller.application, accessControl, secret: secret,
            applicationPassword: password)
        let record = try make(draft, replacing: body.replace, for: session, recordedAs: created)
        return Reply(.right(WireRight(record, enclave: enclave.kind)))
    }

    /// Makes and stores a right or key, ends the grants on the one that it replaces, and records both the beginning and the end.
    func make(
        _ draft: borrowing RightStore.Draft, replacing: Bool, for session: Session, recordedAs created: AuditTrail.Event
    ) throws -> ObjectRecord {
        try session.verifyCaller()
        return try session.account.make(draft) { record in
            try trail.change(created)
            if let replaced = try session.account.rights.store(record, replacing: replacing) {
                // The name is the new one's, too. The id comes first, since a long name is cut.
                let name = "\(replaced) \(created.object)"
                trail.end(event("remove", session, object: name, operation: created.name)) {
                    sessions.endGrants(on: replaced)
                }
            }
            trail.note(created)
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
                .invalidParameter, "A right that confirms each signature only signs; it keeps no secret.",
                cause: "right.confirmed-secret")
        }
        guard DisplayText(wholeFact: body.identifier) != nil else {
            throw Refusal(
                .invalidParameter,
                "The name of a right that confirms each signature must fit into the question; take a shorter one.",
                cause: "right.name")
        }
    }

    private func requireFree(_ identifier: ExactName, _ session: Session) throws {
        do {
            _ = try session.account.rights.find(identifier, application: session.caller.application)
        } catch let refusal as Refusal where refusal.code == .notFound { return }
        throw RightStore.duplicate
    }

    /// Asks for the application password of a new object, twice; nil when its rule names none. One that the program gave is
    /// not taken for a right, since the person must know it; it is for a key or item, as on Apple's systems.
    func newApplicationPassword(
        _ accessControl: AccessControl, object: String, operation: String, _ session: Session,
        given: Credential? = nil, asking: () throws -> Asking
    ) throws -> ApplicationPassword? {
        guard accessControl.keyRequirement.factors.contains(.applicationPassword) else { return nil }
        let parameters = ApplicationPasswordParameters()
        let stretched: SecretBytes
        if let given {
            stretched = try parameters.stretch(given.bytes, by: session.account.stretching)
        } else {
            let chosen = try newSecret(
                .newApplicationPassword, repeated: .repeatApplicationPassword, object: object,
                operation: "protect a new \(operation) with a password", asking: asking())
            stretched = try parameters.stretch(chosen, by: session.account.stretching)
        }
        return ApplicationPassword(stretchedKey: stretched, parameters: parameters.bytes)
    }

    // MARK: finding and removing

    func findRight(_ body: WireFindRightRequest, _ session: Session) throws -> Reply {
        let object = try session.account.rights.find(
            ExactName(body.identifier), application: session.caller.application)
        try session.verifyCaller()
        return Reply(.right(WireRight(object, enclave: enclave.kind)))
    }

    func listRights(_ body: WireListRightsRequest, _ session: Session) throws -> Reply {
        let application = body.ofAllApplications ? nil : session.caller.application
        let page = try session.account.rights.page(
            application: application, after: body.cursor.isEmpty ? nil : body.cursor)
        try session.verifyCaller()
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

    func removeRight(_ body: WireRemoveRightRequest, _ session: Session) throws -> Reply {
        let application = session.caller.application
        let id: VaultID
        var name = body.identifier
        switch body.which {
        case .identifier(let identifier)?:
            id = try session.account.rights.id(of: ExactName(identifier), application: application)
        case .rightID(let bytes)?:
            guard let named = VaultID(bytes: bytes) else { throw RightStore.notFound }
            id = named
            guard try !session.account.applications.isLostRow(named) else { throw Self.rowOfRegistration }
            name =
                try session.account.rights.removable(id: named, application: application)?.attributes.identifier.text
                ?? "\(named)"
        case nil: throw Refusal(.malformed, "The request names no right.")
        }
        try session.verifyCaller()
        try session.account.changing.withLock { try session.account.rights.remove(id) }
        trail.end(event("remove", session, object: name)) { sessions.endGrants(on: id) }
        return Reply(.done(.with { $0.count = 1 }))
    }

    private static let rowOfRegistration = Refusal(
        .operationNotPermitted,
        "The row is the registration of a program, and does not verify. Register the program again with `ostiary app "
            + "register`: that asks you, and takes the row's place.", cause: "application.lost")

    func removeAllRights(_ session: Session) throws -> Reply {
        try session.verifyCaller()
        let rights = session.account.rights
        let listed = try rights.list(application: session.caller.application).compactMap(\.record)
        try session.verifyCaller()
        let removed = try session.account.changing.withLock { try rights.removeAll(listed) }
        noteDestruction(of: removed, by: "remove-all", session)
        // A program can repeat a removal of nothing as often as it wants.
        if !removed.isEmpty { trail.note(event("remove-all", session)) }
        return Reply(.done(.with { $0.count = UInt32(clamping: removed.count) }))
    }

    /// Ends the grants on objects that a request destroyed together, and names each in the log.
    func noteDestruction(of objects: [ObjectRecord], by request: String, _ session: Session) {
        for object in objects {
            trail.end(event("remove", session, object: object.attributes.identifier.text, operation: request)) {
                sessions.endGrants(on: object.id)
            }
        }
    }

    /// Records items that a request destroyed along with something else, as those that are deleted.
    func noteDestruction(of items: [some LoggedItem], by request: String, _ session: Session) {
        guard !items.isEmpty else { return }
        trail.note(event("item-delete", session, object: items.logName, operation: request))
    }

    // MARK: uses

    /// One use of an authorized right: the operation, then the caller once more, then whether the authorization still stands and
    /// has a use left, together with the record, then the answer. A lock or removal during the operation wins. The use counts
    /// before it is recorded, so a record that cannot be written costs a use.
    func use(
        _ contextID: UInt64, _ rightID: Data, _ operation: AccessControl.Operation, _ session: Session,
        recordedAs name: String? = nil, _ work: (OpenedRight) throws -> SecretBytes
    ) throws -> Reply {
        guard let id = VaultID(bytes: rightID) else { throw RightStore.notFound }
        let context = try session.contexts.context(contextID)
        let right = try context.right(id, for: operation)
        let result = try work(right)
        try session.verifyCaller()
        try trail.decide {
            try context.use(right)
            try trail.use(
                event(name ?? operation.name, session, object: right.identifier), factors: right.factorNames,
                strength: right.strength)
            session.account.keyUses.note(id)
        }
        return .payload(result)
    }
}

extension OwnerAccount {
    /// Refuses a rule that could not be satisfied on this machine, before a key is made that nobody could use.
    ///
    /// - Parameter isOfRight: whether it is for a right; only rights confirm each signature.
    func requireUsable(_ accessControl: AccessControl, isOfRight: Bool = false) throws {
        try Self.requireCheckable(accessControl)
        if accessControl.confirmsEachSignature { try Self.requireConfirmable(accessControl, isOfRight: isOfRight) }
        let factors = accessControl.keyRequirement.factors
        let authenticators = evaluator.authenticators
        guard accessControl.limits == nil || !accessControl.keyRequirement.isUnrestricted else {
            throw Refusal(
                .invalidRule, "Limits need a rule that asks for something; without one a new grant costs nothing.",
                cause: "rule.limits-without-factor")
        }
        for factor in factors.factors.reversed() { try authenticators[factor].requireBindable(factor) }
        let needsPasscode = !factors.isDisjoint(with: [.passcode, .biometry, .biometryCurrentSet])
        guard ring.isPasscodeSet || !(needsPasscode || accessControl.availability == .whenPasscodeSet) else {
            throw Refusal.passcodeNotSet
        }
        let uses = accessControl.operations.filter(\.needsAccessSecret).compactMap { accessControl[$0] }
        for use in uses {
            for factor in Factor.allCases where use.alternatives.allSatisfy({ $0.contains(FactorSet(factor)) }) {
                try authenticators[factor].requireProvableEver(factor)
            }
        }
    }

    private static func requireConfirmable(_ accessControl: AccessControl, isOfRight: Bool) throws(Refusal) {
        guard isOfRight else {
            throw Refusal(
                .invalidRule, "Only the key of a right confirms each signature.", cause: "rule.confirmed-without-right")
        }
        guard !accessControl.keyRequirement.isUnrestricted else {
            throw Refusal(
                .invalidRule, "Confirming each signature needs a rule that asks for something.",
                cause: "rule.confirmed-without-factor")
        }
    }

    /// Nobody is asked for anything when a right is created, deleted or changed, so a rule for one of these would promise
    /// what is not kept. Permitting it to nobody is kept.
    private static func requireCheckable(_ accessControl: AccessControl) throws(Refusal) {
        for operation in accessControl.operations where !operation.needsAccessSecret {
            guard accessControl[operation] == .unrestricted else {
                throw Refusal(
                    .invalidRule,
                    "A rule for the operation '\(operation.name)' is not supported; permit it or leave it out.",
                    cause: "rule.unsupported-operation")
            }
        }
    }
}
