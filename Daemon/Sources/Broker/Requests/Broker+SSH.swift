import AccessControl
import Auditing
import Authenticators
import Callers
import Enclave
import Foundation
import OstiaryMessages
import ProtectedObjects
import Refusals
import SecretMemory
import Sessions
import Vault
import ExactNames

/// Signatures for SSH. The bytes are read, each binding is verified, and the key's limits are applied before anybody is asked.
extension Broker {
    func signSSH(_ body: WireSSHSignRequest, _ exchange: Exchange) throws -> Reply {
        // A chip may take a second, and the connection's other requests would wait for it.
        if !enclave.isImmediate { _ = try exchange.slow() }
        let request = try UnconfirmedSSHSigning(
            body, input: exchange.request.tail, clientMayForward: exchange.caller.program.mayForwardAgent)
        guard let id = VaultID(bytes: body.rightID) else { throw RightStore.notFound }
        if let reply = try signUnasked(request, id, body, exchange) { return reply }
        let opener = try opener(ofRight: id, exchange)
        let signing = try SSHSigning(
            request, by: SSHKey(x963: opener.object.publicKey, constraints: opener.sshConstraints))
        if opener.accessControl.confirmsEachSignature { return try signOnce(signing, opener, body, exchange) }
        guard body.contextID != 0 else { throw Self.confirmsNothing }
        let context = try exchange.contexts.context(body.contextID)
        var leased = Self.leasedUse(signing, exchange)
        if let held = leased.find(id), case .key(let right) = held.opened {
            return try use(right, under: held, exchange, recordedAs: self.event(of: signing, exchange)) { right in
                try signing.signature(of: exchange.request.tail, with: right)
            }
        }
        var event = exchange.event("authorize", operation: signing.operation)
        event.details = signing.details
        _ = try authorize(
            opener, opener.demand(forAuthorizing: signing.shown), in: context, exchange.asking(body.question), exchange,
            recordedAs: event, unlessLeased: leased, operations: [.sign], for: signing.purpose)
        return try signAuthorized(signing, body, exchange)
    }

    /// A signature under the authorization that the context holds, if that was given for this host or namespace; nil if the person must be
    /// asked.
    private func signUnasked(
        _ request: UnconfirmedSSHSigning, _ id: VaultID, _ body: WireSSHSignRequest, _ exchange: Exchange
    ) throws -> Reply? {
        guard body.contextID != 0 else { return nil }
        let context = try exchange.contexts.context(body.contextID)
        guard let held = context.heldRight(id) else { return nil }
        let signing = try SSHSigning(
            request, by: SSHKey(x963: held.key.publicKey, constraints: held.sshConstraints))
        guard context.heldRight(id, for: signing.purpose) === held else { return nil }
        return try signAuthorized(signing, body, exchange)
    }

    /// The look for a lease that permits this signature: for its host or its namespace.
    private static func leasedUse(_ signing: SSHSigning, _ exchange: Exchange) -> LeasedUse {
        LeasedUse(.sign, at: signing.destination, offered: signing.isPlaceKnown, exchange)
    }

    /// One signature that the person confirms now.
    private func signOnce(
        _ signing: SSHSigning, _ opener: RightOpener, _ body: WireSSHSignRequest, _ exchange: Exchange
    ) throws -> Reply {
        try useOnce(
            opener, opener.demand(forSigning: signing.shown), exchange.asking(body.question), exchange,
            recordedAs: event(of: signing, exchange), underLease: Self.leasedUse(signing, exchange)
        ) { right in try signing.confirmedSignature(of: exchange.request.tail, with: right) }
    }

    /// One signature under the authorization that the context holds.
    private func signAuthorized(
        _ signing: SSHSigning, _ body: WireSSHSignRequest, _ exchange: Exchange
    ) throws -> Reply {
        try use(
            body.contextID, body.rightID, .sign, exchange, recordedAs: event(of: signing, exchange),
            at: signing.destination, isForSSHKeys: true, for: signing.purpose
        ) { right in try signing.signature(of: exchange.request.tail, with: right) }
    }

    private func event(of signing: SSHSigning, _ exchange: Exchange) -> AuditTrail.Event {
        var event = exchange.event(operation: signing.operation)
        event.details = signing.details
        return event
    }
}
