import AccessControl
import Auditing
import Authenticators
import Callers
import Enclave
import ExactNames
import Foundation
import OstiaryMessages
import OwnerKeys
import Owners
import Passcodes
import ProcessFacts
import PromptProtocol
import ProtectedObjects
import Refusals
import Sessions
import UnixSocket
import Vault
import Threading

/// Leases: granting them before the first use, listing and revoking them.
extension Broker {
    /// Leases of one page: each may hold long names of objects, destinations and a purpose, and a message must stay below
    /// `messageByteCount`.
    private static let leasePageCount = 6

    /// Asks the person once, by the rules of all objects, and opens each of them for the lease.
    func grantLease(_ body: WireGrantLeaseRequest, _ exchange: Exchange) throws -> Reply {
        let wish = try LeaseWish(body)
        let account = exchange.account
        let asking = try exchange.asking(body.question)
        let objects = try LeaseObjects(wish, self, exchange)
        let id = LeaseDraft.newID()
        let era = account.leases.era
        guard account.leases.hasRoom else { throw LeaseTable.tooMany }
        let evaluation = try account.evaluator.evaluate(objects.demand(for: wish), asking: asking)
        let opened = try account.keeper.exclusively { try objects.opened(by: evaluation, enclave: enclave) }
        let draft = LeaseDraft(
            id: id, wish.scope(of: objects), file: nil, limits: wish.limits, purpose: wish.purpose,
            endsOnLock: wish.endsOnLock,
            objects: opened, evaluation: evaluation, grantedTo: exchange.caller.program)
        let event = exchange.event(object: draft.logName, lease: id)
        try grant(evaluation, asking, exchange, as: event) {
            try objects.requireStillStored(in: self, exchange)
            try account.leases.add(draft, since: era)
        }
        guard let listed = account.leases.listed.first(where: { $0.id == id }) else {
            throw LeaseRefusal.revoked.refusal(of: id)
        }
        return Reply(.lease(WireLease(listed, now: clock.now().time)))
    }

    /// Names of objects come from encrypted attributes: other programs than the owner's command are told of their own leases, and how many
    /// there are besides.
    func listLeases(_ body: WireListLeasesRequest, _ exchange: Exchange) throws -> Reply {
        let (asker, all) = (exchange.caller, exchange.account.leases.listed)
        let (program, isOwnersCommand) = (LeaseQuery.Program(asker), asker.identity.isOwnersCommand)
        let listed = all.filter {
            mayList(
                $0.scope, grantedTo: $0.grantedTo.application, as: program, isOwnersCommand: isOwnersCommand)
        }
        let now = clock.now().time
        try exchange.verifyCaller()
        let page = listed.dropFirst(Int(body.offset)).prefix(Self.leasePageCount)
        return Reply(
            .leases(
                .with {
                    $0.leases = page.map { WireLease($0, now: now) }
                    $0.total = UInt32(clamping: listed.count)
                    $0.hidden = UInt32(clamping: all.count - listed.count)
                }))
    }

    func revokeLeases(_ body: WireRevokeLeasesRequest, _ exchange: Exchange) throws -> Reply {
        try exchange.verifyCaller()
        let leases = exchange.account.leases
        let count: Int
        if let id = body.leaseID {
            var isRevoked = false
            exchange.trail.end(exchange.event(lease: id), folds: true) { isRevoked = leases.revoke(id) || isRevoked }
            guard isRevoked else {
                throw Refusal(.notFound, "There is no such lease; it may have ended.", cause: "lease.not-found")
            }
            count = 1
        } else {
            count = leases.listed.count
            // A grant that was begun before the revocation must not be made after it.
            exchange.trail.end(exchange.event(object: "all"), folds: true) { leases.endAll(because: .revoked) }
        }
        return Reply(.done(.with { $0.count = UInt32(clamping: count) }))
    }

    /// Records the ends of an owner's leases, and tells programs that were authorized under them.
    func followLeases(of account: OwnerAccount) {
        account.leases.whenEnded { [weak account, weak services = services] ended in
            // The leases tell from wherever one ends, maybe in the middle of a decision.
            services?.grantEnds.run { [weak account, weak services] in
                guard let account, let services else { return }
                for lease in ended {
                    services.registry.endLeased(lease.objectIDs, of: account)
                    account.trail.decide {
                        account.trail.note(
                            AuditTrail.Event(
                                name: "lease-end", program: lease.grantedTo, object: lease.objects, leaseID: lease.id),
                            reason: lease.end.rawValue)
                    }
                }
            }
        }
    }
}

extension WireLease {
    init(_ lease: ListedLease, now: Duration) {
        self = .with {
            $0.leaseID = lease.id
            $0.objects = lease.objects.map { object in
                .with { ($0.objectID, $0.kind, $0.name) = (object.id.bytes, object.kind.rawValue, object.name) }
            }
            $0.program = lease.scope.program.text
            switch lease.scope.door {
            case .none: break
            case .named(let door): $0.through.door = door.text
            case .any: $0.through.isAny = true
            }
            $0.operations = lease.scope.operations.sorted().map(\.name)
            $0.destinations = lease.scope.destinations?.sorted().texts ?? []
            $0.isForAnyDestination = lease.scope.destinations == nil
            $0.purpose = lease.purpose
            $0.factors = lease.factorNames
            $0.strength = lease.strength
            $0.ageSeconds = (now - lease.since) / .seconds(1)
            $0.secondsLeft = (lease.end - now) / .seconds(1)
            $0.idleSecondsLeft = lease.idleEnd.map { ($0 - now) / .seconds(1) }
            $0.useCount = lease.useCount
            $0.usesLeft = lease.usesLeft
            $0.endsOnLock = lease.endsOnLock
            $0.session = lease.scope.session.map { UInt32(clamping: $0.id) }
            $0.terminal = lease.scope.session?.terminal ?? ""
        }
    }
}
