public import Foundation
import OstiaryMessages

/// A grant that a program of the user holds.
public struct ListedGrant: Sendable, Equatable {
    /// Names the grant for ``OstiaryClient/revokeGrants(_:)``; 16 hexadecimal digits.
    public let id: UInt64
    /// `right`, `requirement`, `policy`, `factors` for what an `LAContext` keeps, or `passkeys` for what a browser may do without another
    /// question.
    public let kind: String
    /// The program's path, as the daemon saw it.
    public let program: String
    public let processID: UInt32
    /// The name of a right, the id of a key, the domain of passkeys; empty for a grant without an object, and for all passkeys.
    public let object: String
    public let operations: [String]
    public let factors: [String]
    public let strength: String
    /// Since when it counts, on this machine's wall clock.
    public let since: Date
    /// Nil for a grant that does not end by time.
    public let ends: Date?
    /// Nil for a grant without a limit of uses.
    public let usesLeft: UInt32?
}

/// The grants that are to end.
public enum GrantSelection: Sendable, Equatable {
    case all
    case grant(id: UInt64)
    /// Those of the program with this path.
    case program(String)
}

extension OstiaryClient {
    /// The grants of all programs of the user, the oldest first.
    public func grants() throws -> [ListedGrant] {
        var grants: [ListedGrant] = []
        let now = Date()
        while true {
            let request = WireListGrantsRequest.with { $0.offset = UInt32(clamping: grants.count) }
            guard case .grants(let page) = try call(.listGrants(request)).body else { throw Self.unexpected() }
            grants += page.grants.map { ListedGrant($0, now: now) }
            if page.grants.isEmpty || grants.count >= Int(page.total) { return grants }
        }
    }

    /// Ends grants of the user's programs, with everything else that was proved in their contexts. Asks nobody.
    ///
    /// - Returns: how many there were.
    /// - Throws: `notFound` for a grant or a program without grants.
    @discardableResult
    public func revokeGrants(_ selection: GrantSelection) throws -> Int {
        let request = WireRevokeGrantsRequest.with {
            switch selection {
            case .all: $0.which = .all(.init())
            case .grant(let id): $0.which = .grantID(id)
            case .program(let path): $0.which = .program(path)
            }
        }
        guard case .done(let done) = try call(.revokeGrants(request)).body else { throw Self.unexpected() }
        return Int(done.count)
    }
}

extension ListedGrant {
    fileprivate init(_ grant: WireListedGrant, now: Date) {
        id = grant.grantID
        kind = grant.kind
        program = grant.program
        processID = grant.processID
        object = grant.object
        operations = grant.operations
        factors = grant.factors
        strength = grant.strength
        since = now - grant.ageSeconds
        ends = grant.secondsLeft.map { now + $0 }
        usesLeft = grant.usesLeft
    }
}
