import AccessControl
import Enclave
import Foundation
import OstiaryWire
import SwiftProtobuf
import Vault

/// Enclave keys that back no right: making, finding and removing. They are authorized and used as rights are.
extension Broker {
    func createKey(
        _ body: WireCreateKeyRequest, _ request: IncomingRequest, _ session: Session, _ cancellation: RequestCancellation?
    ) throws -> Reply {
        guard let number = UInt8(exactly: body.kind.rawValue), let type = EnclaveKeyType(rawValue: number) else {
            throw Refusal(.invalidParameter, "The kind of key is unknown.", cause: "key.kind")
        }
        let group = try AccessGroups(session.caller.accessGroups)
            .home(body.accessGroup.isEmpty ? nil : body.accessGroup)
        let accessControl = try AccessControl(canonicalBytes: Array(body.accessControl))
        guard body.shownAccessControl.count <= SessionLimits.shownAccessControlByteCount else {
            throw Refusal(.tooLarge, "The access control is too large.", cause: "key.access-control")
        }
        try requireUsable(accessControl)
        let context = body.use.contextID == 0 ? nil : try session.contexts.context(body.use.contextID)
        let password = try newApplicationPassword(
            accessControl, object: "a key", operation: "key", given: context?.applicationPassword
        ) {
            guard body.use.hasQuestion else { throw Refusals.notInteractive }
            return try asking(body.use.question, request, session, cancellation)
        }
        let draft = RightStore.Draft.key(
            type, in: group, accessControl, shown: body.shownAccessControl, applicationPassword: password)
        guard !body.awaitsItem else { return Reply(.key(try WireKey(makeDraft(draft, session), enclave: enclave.kind))) }
        let created = event("key-create", session, object: "\(draft.id)")
        let record = try make(draft, replacing: false, for: session, recordedAs: created)
        return Reply(.key(try WireKey(record, enclave: enclave.kind)))
    }

    /// Makes a key that is stored with its item. Nothing is recorded before that: nothing was changed.
    private func makeDraft(_ draft: consuming RightStore.Draft, _ session: Session) throws -> ObjectRecord {
        changing.lock()
        defer { changing.unlock() }
        let record = try rights.prepare(draft)
        try session.verifyCaller()
        try session.draftKeys.add(record, wrappedTo: ring.publicHalves)
        return record
    }

    func findKey(_ body: WireFindKeyRequest, _ session: Session) throws -> Reply {
        let key = try key(body.keyID, session)
        try session.verifyCaller()
        return Reply(.key(try WireKey(key, enclave: enclave.kind)))
    }

    func removeKey(_ body: WireRemoveKeyRequest, _ session: Session) throws -> Reply {
        if let id = VaultID(bytes: body.keyID), session.draftKeys.remove(id) { return Reply(.done(.with { $0.count = 1 })) }
        let key = try key(body.keyID, session)
        try session.verifyCaller()
        try changing.withLock { try rights.remove(key.id) }
        trail.end(event("key-remove", session, object: key.attributes.identifier)) { sessions.endGrants(on: key.id) }
        return Reply(.done(.with { $0.count = 1 }))
    }

    private func key(_ bytes: Data, _ session: Session) throws -> ObjectRecord {
        guard let id = VaultID(bytes: bytes) else { throw RightStore.keyNotFound }
        return try rights.findKey(id: id, groups: session.caller.accessGroups)
    }
}
