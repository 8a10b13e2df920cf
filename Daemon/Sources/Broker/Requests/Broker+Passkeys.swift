import Auditing
import AuthenticatorRequests
import Authenticators
import Callers
import ExactNames
import Foundation
import OstiaryMessages
import Owners
import Passkeys
import ProtectedObjects
import Refusals
import Sessions
import Vault

/// Passkeys of this machine as their owner sees them: listing, and removing with the owner's word.
extension Broker {
    /// Passkeys of one page: each has names of at most 64 bytes and a domain, and a message must stay below
    /// `messageByteCount`.
    private static let passkeyPageCount = 50

    func listPasskeys(_ body: WireListPasskeysRequest, _ exchange: Exchange) throws -> Reply {
        let all = try exchange.account.passkeys.all()
        try exchange.verifyCaller()
        return Reply(
            .passkeys(
                .with {
                    $0.passkeys = all.dropFirst(Int(body.offset)).prefix(Self.passkeyPageCount).map(WirePasskey.init)
                    $0.total = UInt32(clamping: all.count)
                }))
    }

    func removePasskey(_ body: WireRemovePasskeyRequest, _ exchange: Exchange) throws -> Reply {
        let asking = try exchange.asking(body.question)
        let passkey = try exchange.account.passkeys.find([UInt8](body.passkeyID))
        let domain = passkey.attributes.relyingParty.identifier.text
        let event = exchange.event(object: domain)
        let account = passkey.attributes.user.name.map { ", account \($0)" } ?? ""
        try askOwner("destroy a passkey for good", domain + account, asking, exchange, for: event)
        try exchange.verifyCaller()
        try exchange.account.changing.withLock {
            try asking.cancellation.check()
            try exchange.trail.change(event)
            try exchange.account.passkeys.remove(passkey.record.id)
        }
        exchange.trail.note(event)
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
