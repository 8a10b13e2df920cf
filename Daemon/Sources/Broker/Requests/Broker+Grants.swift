import AccessControl
import Auditing
import CTAP
import Callers
import ExactNames
import Foundation
import OstiaryMessages
import Owners
import Passcodes
import Passkeys
import ProtectedObjects
import Refusals
import Sessions
import UnixSocket

/// The grants of all programs of a user: listing and revoking them. And how a program learns that its own have ended.
extension Broker {
    /// Grants of one page: each may hold a path of 4,096 bytes and a name of 512, and a message must stay below
    /// `messageByteCount`.
    private static let grantPageCount = 50

    func listGrants(_ body: WireListGrantsRequest, _ exchange: Exchange) throws -> Reply {
        let now = clock.now().time
        var listed: [WireListedGrant] = []
        for other in sessions.all(of: exchange.account) {
            for holder in other.holders {
                let grants = holder.contexts.all.flatMap(\.listedGrants)
                listed += grants.map { WireListedGrant($0, of: holder.caller, now: now) }
            }
            listed += other.browserAuthenticator.liveAuthorizations(at: now).map {
                WireListedGrant($0, of: other.caller, now: now)
            }
        }
        listed.sort { ($1.ageSeconds, $0.grantID) < ($0.ageSeconds, $1.grantID) }
        try exchange.verifyCaller()
        let page = listed.dropFirst(Int(body.offset)).prefix(Self.grantPageCount)
        return Reply(
            .grants(
                .with {
                    $0.grants = Array(page)
                    $0.total = UInt32(clamping: listed.count)
                }))
    }

    /// Ends whole contexts, and the reuse of biometry: what else was proved could bring the grant back without a question.
    func revokeGrants(_ body: WireRevokeGrantsRequest, _ exchange: Exchange) throws -> Reply {
        guard let which = body.which else { throw Refusal(.malformed, "The request names no grants.") }
        try exchange.verifyCaller()
        let chosen = sessions.all(of: exchange.account).flatMap(\.holders).flatMap { holder in
            holder.contexts.all.filter { Self.isMeant($0, of: holder.caller, which) }
        }
        let now = clock.now().time
        let browsers = sessions.all(of: exchange.account)
            .filter { Self.isMeant($0.browserAuthenticator, of: $0.caller, which, at: now) }
        let count =
            chosen.reduce(0) { $0 + $1.listedGrants.count }
            + browsers.reduce(0) { $0 + $1.browserAuthenticator.liveAuthorizations(at: now).count }
        if case .all = which {
        } else if count == 0, browsers.isEmpty {
            throw Refusal(.notFound, "There is no such grant; it may have ended.", cause: "grant.not-found")
        }
        // A grant that was begun before the revocation must not be made after it.
        exchange.trail.end(exchange.event("grants-revoke", object: Self.name(of: which)), folds: true) {
            for context in chosen { context.revokeAllGrants() }
            for browser in browsers { browser.browserAuthenticator.revoke() }
            exchange.account.recentBiometry.forget()
        }
        return Reply(.done(.with { $0.count = UInt32(clamping: count) }))
    }

    private static func isMeant(
        _ context: EvaluationContext, of caller: CallerProcess, _ which: WireRevokeGrantsRequest.OneOf_Which
    ) -> Bool {
        switch which {
        case .all: true
        case .grantID(let id): context.listedGrants.contains { $0.id == id }
        case .program(let path): [caller.program.displayName, caller.program.through].contains(ExactName(path))
        }
    }

    /// Whether what a connection of a browser may do without another question ends, and its command with it.
    private static func isMeant(
        _ browser: BrowserAuthenticator, of caller: CallerProcess, _ which: WireRevokeGrantsRequest.OneOf_Which,
        at now: Duration
    ) -> Bool {
        let live = browser.liveAuthorizations(at: now)
        switch which {
        case .all: return true
        case .grantID(let id): return live.contains { $0.number == id }
        case .program(let path):
            return caller.program.displayName == ExactName(path) && (browser.isRunning || !live.isEmpty)
        }
    }

    private static func name(of which: WireRevokeGrantsRequest.OneOf_Which) -> String {
        switch which {
        case .all: "all"
        case .grantID(let id): String(id, radix: 16)
        case .program(let path): path
        }
    }

    // MARK: a program's own

    /// Waits until grants of another connection of the same program end.
    func awaitGrantEnd(_ body: WireAwaitGrantEndRequest, _ exchange: Exchange) throws -> Reply {
        guard let watched = sessions.all(of: exchange.account).first(where: { $0.isGreeted(with: body.connection) })
        else {
            throw Refusal(.unknownContext, "There is no such connection.", cause: "connection.unknown")
        }
        let number = try watched.grantEnds.wait(unless: body.known, try exchange.slow())
        try exchange.verifyCaller()
        return Reply(.grantEnds(.with { $0.number = number }))
    }

    func heldGrants(_ exchange: Exchange) throws -> Reply {
        let held = exchange.contexts.idsOfHeldGrants
        try exchange.verifyCaller()
        return Reply(.heldGrants(.with { $0.contextIDs = held }))
    }
}

extension WireListedGrant {
    fileprivate init(_ authorization: LiveAuthorization, of caller: CallerProcess, now: Duration) {
        self = .with {
            $0.grantID = authorization.number
            $0.kind = "passkeys"
            $0.program = caller.program.logName
            $0.processID = UInt32(clamping: caller.credentials.processID)
            $0.object = authorization.relyingParty?.text ?? ""
            $0.operations = authorization.operations.map(\.rawValue)
            $0.factors = authorization.factors?.names ?? []
            $0.strength = authorization.factors?.label ?? ""
            $0.ageSeconds = (now - authorization.since) / .seconds(1)
            $0.secondsLeft = (authorization.end - now) / .seconds(1)
        }
    }

    fileprivate init(_ grant: ListedGrant, of caller: CallerProcess, now: Duration) {
        self = .with {
            $0.grantID = grant.id
            $0.kind = grant.kind.rawValue
            $0.program = caller.program.logName
            $0.processID = UInt32(clamping: caller.credentials.processID)
            $0.object = grant.object
            $0.operations = grant.operations.map(\.name)
            $0.factors = grant.factors
            $0.strength = grant.strength
            $0.ageSeconds = (now - grant.since) / .seconds(1)
            $0.secondsLeft = grant.end.map { ($0 - now) / .seconds(1) }
            $0.usesLeft = grant.usesLeft
        }
    }
}
