public import Cancellations
public import Foundation
import OstiaryMessages

/// A request to the person: let a program use objects for a time, without another question.
public struct LeaseRequest: Sendable, Equatable {
    /// The objects of a lease.
    public enum Objects: Sendable, Equatable {
        /// The ids of rights, keys and items of the user, 16 bytes each.
        case ids([Data])
        /// All rights, keys and items that the access group has now. Objects that are made later do not belong to the lease.
        case group(String)
    }

    public var objects: Objects
    /// The absolute path of the program's file, without symbolic links, or the program's application id.
    public var program: String
    public var door: LeaseDoor
    /// `sign`, `decrypt`, `key-exchange`, `read`; empty for all that the objects permit.
    public var operations: [String] = []
    /// Fingerprints of host keys (`SHA256:…`), namespaces of signatures (`namespace:git`), servers of passwords (`github.com`); empty
    /// for any. A lease must name the destinations of signatures for SSH that another host asks for, or may
    /// (`forwarded by SHA256:… to SHA256:…`), and the unknown place.
    public var destinations: [String] = []
    public var purpose = ""
    /// Seconds without a use after which the lease ends.
    public var idleSeconds: UInt32?
    /// Seconds after which the lease ends in any case: at most a day.
    public var hardSeconds: UInt32
    public var uses: UInt32?
    /// False only where every object can be used after a lock; otherwise the request is refused.
    public var endsOnLock = true

    public init(_ objects: Objects, for program: String, through door: LeaseDoor = .none, hardSeconds: UInt32) {
        (self.objects, self.program, self.door, self.hardSeconds) = (objects, program, door, hardSeconds)
    }
}

/// The door through which the program of a lease may ask.
public enum LeaseDoor: Sendable, Equatable {
    /// The program asks itself.
    case none
    /// Through this one only: its path or application id.
    case door(String)
    /// Itself, or through each door.
    case any
}

/// A lease that stands.
public struct Lease: Sendable, Equatable {
    public struct Object: Sendable, Equatable {
        public let id: Data
        /// `right`, `key` or `item`.
        public let kind: String
        public let name: String
    }

    /// Names the lease for ``OstiaryClient/revokeLeases(_:)`` and in the log; 16 hexadecimal digits.
    public let id: UInt64
    public let objects: [Object]
    public let program: String
    public let door: LeaseDoor
    public let operations: [String]
    /// Nil for any, except those that a lease must name. An empty text stands for uses without a destination.
    public let destinations: [String]?
    public let purpose: String
    public let factors: [String]
    public let strength: String
    /// When it was granted, on this machine's wall clock.
    public let since: Date
    /// When it ends in any case.
    public let ends: Date
    /// When it ends unless it is used before; nil without such a limit.
    public let endsUnused: Date?
    public let useCount: UInt32
    /// Nil without a limit of uses.
    public let usesLeft: UInt32?
    public let endsOnLock: Bool
    /// The only session (setsid(2)) whose processes may use it; nil for any.
    public let session: LeaseSession?
}

/// The session that a lease is for, because it was given there with the answer to a question.
public struct LeaseSession: Sendable, Equatable {
    /// The process id of its leader.
    public let id: UInt32
    /// Its terminal, such as `/dev/pts/3`; nil without one.
    public let terminal: String?
}

/// The leases of a list.
public struct LeaseList: Sendable, Equatable {
    /// The oldest first.
    public let leases: [Lease]
    /// The number of leases of other programs, which are shown to Ostiary's command where it is registered.
    public let hiddenCount: Int
}

/// The leases that are to end.
public enum LeaseSelection: Sendable, Equatable {
    case all
    case lease(id: UInt64)
}

extension OstiaryClient {
    /// Asks the person once, by the rules of all objects, and lets the program use them from then on within the request's limits.
    /// Blocks while the person is asked.
    ///
    /// - Throws: `operationNotPermitted` where an object permits no lease, `invalidParameter` for limits or programs that cannot be
    ///   leased to, `notFound` for an object that the user does not have, and what the question comes to.
    public func grantLease(
        _ lease: LeaseRequest, interaction: Interaction, cancellation: Cancellation? = nil
    ) throws -> Lease {
        let request = WireGrantLeaseRequest(lease, interaction)
        let answer = try call(.grantLease(request), terminal: interaction.terminal, cancellation: cancellation)
        guard case .lease(let granted) = answer.body else { throw Self.unexpected() }
        return Lease(granted, now: Date())
    }

    /// The leases that stand, as far as this program is told of them: its own ones and those that it asked for, and Ostiary's command of
    /// all.
    ///
    /// - Throws: `versionMismatch` for a daemon that knows no leases.
    public func leases() throws -> LeaseList {
        var leases: [Lease] = []
        let now = Date()
        while true {
            let request = WireListLeasesRequest.with { $0.offset = UInt32(clamping: leases.count) }
            guard case .leases(let page) = try call(.listLeases(request)).body else { throw Self.unexpected() }
            leases += page.leases.map { Lease($0, now: now) }
            if page.leases.isEmpty || leases.count >= Int(page.total) {
                return LeaseList(leases: leases, hiddenCount: Int(page.hidden))
            }
        }
    }

    /// Ends leases and the programs' authorizations under them. Asks nobody.
    ///
    /// - Returns: how many there were.
    /// - Throws: `notFound` for a lease that does not stand.
    @discardableResult
    public func revokeLeases(_ selection: LeaseSelection) throws -> Int {
        let request = WireRevokeLeasesRequest.with {
            if case .lease(let id) = selection { $0.leaseID = id }
        }
        guard case .done(let done) = try call(.revokeLeases(request)).body else { throw Self.unexpected() }
        return Int(done.count)
    }
}

extension WireGrantLeaseRequest {
    fileprivate init(_ lease: LeaseRequest, _ interaction: Interaction) {
        self.init()
        switch lease.objects {
        case .ids(let ids): objectIDs = ids
        case .group(let name): accessGroup = name
        }
        program = lease.program
        switch lease.door {
        case .none: break
        case .door(let name): through.door = name
        case .any: through.isAny = true
        }
        (operations, destinations, purpose) = (lease.operations, lease.destinations, lease.purpose)
        (idleSeconds, hardSeconds, uses) = (lease.idleSeconds, lease.hardSeconds, lease.uses)
        endsOnLock = lease.endsOnLock
        question = interaction.question
    }
}

extension Lease {
    fileprivate init(_ lease: WireLease, now: Date) {
        id = lease.leaseID
        objects = lease.objects.map { Object(id: $0.objectID, kind: $0.kind, name: $0.name) }
        program = lease.program
        door = lease.through.isAny ? .any : lease.through.door.isEmpty ? .none : .door(lease.through.door)
        operations = lease.operations
        destinations = lease.isForAnyDestination ? nil : lease.destinations
        purpose = lease.purpose
        factors = lease.factors
        strength = lease.strength
        since = now - lease.ageSeconds
        ends = now + lease.secondsLeft
        endsUnused = lease.idleSecondsLeft.map { now + $0 }
        useCount = lease.useCount
        usesLeft = lease.usesLeft
        endsOnLock = lease.endsOnLock
        session = lease.session.map {
            LeaseSession(id: $0, terminal: lease.terminal.isEmpty ? nil : lease.terminal)
        }
    }
}
