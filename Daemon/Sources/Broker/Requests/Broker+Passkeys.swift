import Auditing
import Authenticators
import AuthenticatorRequests
import Callers
import ExactNames
import Foundation
import OstiaryWire
import Passkeys
import Prompting
import ProtectedObjects
import Refusals
import Vault

/// Passkeys of this machine as their owner sees them: listing, and removing with the owner's word.
extension Broker {
    /// Passkeys of one page: each has names of at most 64 bytes and a domain, and a message must stay below
    /// `messageByteCount`.
    private static let passkeyPageCount = 50

    func listPasskeys(_ body: WireListPasskeysRequest, _ session: Session) throws -> Reply {
        let all = try session.account.passkeys.all()
        try session.verifyCaller()
        return Reply(
            .passkeys(
                .with {
                    $0.passkeys = all.dropFirst(Int(body.offset)).prefix(Self.passkeyPageCount).map(WirePasskey.init)
                    $0.total = UInt32(clamping: all.count)
                }))
    }

    func removePasskey(
        _ body: WireRemovePasskeyRequest, _ request: IncomingRequest, _ session: Session,
        _ cancellation: RequestCancellation?
    ) throws -> Reply {
        let asking = try asking(body.question, request, session, cancellation)
        let passkey = try session.account.passkeys.find([UInt8](body.passkeyID))
        let domain = passkey.attributes.relyingParty.identifier.text
        let event = event(request.eventName, session, object: domain)
        let account = passkey.attributes.user.name.map { ", account \($0)" } ?? ""
        try askOwner("destroy a passkey for good", domain + account, asking, session, for: event)
        try session.verifyCaller()
        try session.account.changing.withLock {
            try asking.cancellation.check()
            try trail.change(event)
            try session.account.passkeys.remove(passkey.record.id)
        }
        trail.note(event)
        return Reply(.done(.with { $0.count = 1 }))
    }
}

extension WirePasskey {
    fileprivate init(_ passkey: Passkey) {
        let attributes = passkey.attributes
        self = .with {
            $0.passkeyID = Data(passkey.identifier)
            $0.relyingPartyID = attributes.relyingParty.identifier.text
            $0.relyingPartyName = attributes.relyingParty.name ?? ""
            $0.userID = Data(attributes.user.identifier)
            $0.userName = attributes.user.name ?? ""
            $0.userDisplayName = attributes.user.displayName ?? ""
            $0.createdAt = passkey.created.timeIntervalSince1970
            $0.signatureCount = attributes.signatureCount
            $0.publicKey = passkey.record.publicKey
        }
    }
}
