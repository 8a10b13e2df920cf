package import AccessControl
import Callers
package import ExactNames
import OstiaryMessages
package import ProcessFacts
package import Refusals
package import Vault

/// The uses that the owner permits one program under a lease.
package struct LeaseScope: Equatable, Sendable {
    /// Through which door the program may ask.
    package enum Door: Equatable, Sendable {
        /// Through none: the program asks itself.
        case none
        case named(ExactName)
        /// Itself, or through each door.
        case any
    }

    /// The path of the program's file, or its application id.
    package let program: ExactName
    package let door: Door
    package let objects: Set<VaultID>
    package let operations: Set<AccessControl.Operation>
    /// Nil for any, except those that a lease must name (``LeaseDestination/mustBeNamed``). The empty name stands for uses without a
    /// destination.
    package let destinations: Set<ExactName>?
    /// The only session whose processes may use it; nil for any.
    package let session: ProcessSession?

    package init(
        program: ExactName, door: Door, objects: Set<VaultID>, operations: Set<AccessControl.Operation>,
        destinations: Set<ExactName>?, session: ProcessSession?
    ) {
        (self.program, self.door, self.objects) = (program, door, objects)
        (self.operations, self.destinations, self.session) = (operations, destinations, session)
    }

    fileprivate func permits(_ destination: LeaseDestination) -> Bool {
        destinations?.contains(destination.name) ?? !destination.mustBeNamed
    }
}

/// The destination of a use, by which leases tell uses apart.
package struct LeaseDestination: Equatable, Sendable {
    /// For a use without a destination.
    package static let none = LeaseDestination("", mustBeNamed: false)

    /// Empty for a use without one.
    package let name: ExactName
    /// Whether only a lease that names the destination permits the use: another host asks for it, or may, or nobody knows where it goes. A
    /// lease without destinations is meant for the uses of this machine. Otherwise a host that gets a forwarded agent could make any use,
    /// unasked.
    package let mustBeNamed: Bool

    package init(_ name: ExactName, mustBeNamed: Bool) { (self.name, self.mustBeNamed) = (name, mustBeNamed) }
}

/// One use that a program wants to make of one object. The daemon saw or computed all of it.
package struct LeaseQuery: Sendable {
    /// A program by its names: its path, and its application id if it is registered.
    package struct Program: Equatable, Sendable {
        package let path: ExactName
        package let applicationID: ExactName?

        package init(path: ExactName, applicationID: ExactName?) {
            (self.path, self.applicationID) = (path, applicationID)
        }

        package func isCalled(_ name: ExactName) -> Bool { name == path || name == applicationID }
    }

    package let program: Program
    /// The file that the program executes.
    package let file: ExecutedFile
    /// The session of the program's process; nil where nobody can tell it.
    package let session: ProcessSession?
    /// Nil for a program that asks itself.
    package let door: Program?
    package let object: VaultID
    package let operation: AccessControl.Operation
    package let destination: LeaseDestination

    package init(
        program: Program, file: ExecutedFile, session: ProcessSession?, door: Program?, object: VaultID,
        operation: AccessControl.Operation, destination: LeaseDestination
    ) {
        (self.program, self.file, self.session, self.door) = (program, file, session, door)
        (self.object, self.operation, self.destination) = (object, operation, destination)
    }
}

/// The state of a lease: its scope, its use so far, and the reason of its end.
package struct LeaseState: Equatable, Sendable {
    package let scope: LeaseScope
    /// Of the lease itself.
    var meter: GrantMeter
    /// Of objects whose own rule has limits. Both meters count.
    var objectMeters: [VaultID: GrantMeter]
    /// Objects that can be used no more while the lease stands.
    var lostObjects: [VaultID: LeaseRefusal] = [:]
    /// The only file that the program may execute. Of a lease that was granted beforehand it is the one of the first use, and nil before
    /// that.
    var file: ExecutedFile?
    /// The reason of an end before the lease's limits.
    var end: LeaseRefusal?

    /// - Parameter file: the file of the program that the lease was granted to at its use; nil if it was granted beforehand.
    init(
        _ scope: LeaseScope, file: ExecutedFile?, limits: GrantLimits, objectLimits: [VaultID: GrantLimits],
        since: Duration
    ) {
        (self.scope, self.file) = (scope, file)
        meter = GrantMeter(limits, since: since)
        objectMeters = objectLimits.mapValues { GrantMeter($0, since: since) }
    }

    /// Counts a use that was permitted.
    mutating func use(_ object: VaultID, at now: Duration, by file: ExecutedFile) {
        self.file = file
        meter.noteUse(at: now)
        objectMeters[object]?.noteUse(at: now)
    }

    /// The reason of the lease's end as a whole; nil while it stands.
    func end(at now: Duration) -> LeaseRefusal? { end ?? meter.end(at: now).map(LeaseRefusal.init) }
}

/// Whether a lease permits a use.
package enum LeaseDecision: Equatable, Sendable {
    case permitted
    case refused(LeaseRefusal)
}

/// Decides about one use under one lease. The only place that does. Pure.
///
/// The order is that of ``LeaseRefusal``: first whose lease it is, then what it is for, then whether it stands.
package func decide(_ query: LeaseQuery, under lease: LeaseState, at now: Duration) -> LeaseDecision {
    let scope = lease.scope
    guard query.program.isCalled(scope.program) else { return .refused(.otherProgram) }
    switch (scope.door, query.door) {
    case (.any, _), (.none, nil): break
    case (.named(let name), let door?) where door.isCalled(name): break
    default: return .refused(.otherDoor)
    }
    guard scope.objects.contains(query.object) else { return .refused(.otherObject) }
    guard scope.operations.contains(query.operation) else { return .refused(.otherOperation) }
    guard scope.permits(query.destination) else { return .refused(.otherDestination) }
    guard lease.file == nil || lease.file == query.file else { return .refused(.programChanged) }
    // A session that nobody can tell is another one.
    guard scope.session == nil || scope.session == query.session else { return .refused(.otherTerminal) }
    if let end = lease.end(at: now) { return .refused(end) }
    if let lost = lease.lostObjects[query.object] { return .refused(lost) }
    guard lease.objectMeters[query.object]?.end(at: now) == nil else { return .refused(.objectLimit) }
    return .permitted
}

/// Whether a program is told of a lease with the names in it: of its own ones, and of those that it asked for. The owner's command is told of
/// all. Pure.
///
/// - Parameter asker: the program that asked for the lease.
package func mayList(
    _ scope: LeaseScope, grantedTo asker: ExactName, as program: LeaseQuery.Program, isOwnersCommand: Bool
) -> Bool {
    if isOwnersCommand { return true }
    // Programs that nobody can name have one name in common.
    guard program.path != CallerProgram.unknown else { return false }
    return program.isCalled(scope.program) || program.path == asker
}

/// Why a lease permits a use not, or no more. In the order of ``decide(_:under:at:)``: of several leases the one counts that came furthest.
/// The raw values are the causes of refusals and the reasons in the log.
package enum LeaseRefusal: String, Error, CaseIterable, Sendable {
    case otherProgram = "lease.other-program"
    case otherDoor = "lease.other-door"
    case otherObject = "lease.other-object"
    case otherOperation = "lease.other-operation"
    case otherDestination = "lease.other-destination"
    case programChanged = "lease.program-changed"
    case otherTerminal = "lease.other-terminal"
    case revoked = "lease.revoked"
    case locked = "lease.locked"
    case sessionEnded = "lease.session-ended"
    case factorsChanged = "lease.factors-changed"
    case accountEnded = "lease.account-ended"
    case usedUp = "lease.used-up"
    case expired = "lease.expired"
    case expiredIdle = "lease.expired-idle"
    case objectRemoved = "lease.object-removed"
    case objectChanged = "lease.object-changed"
    case objectLimit = "lease.object-limit"

    init(_ end: GrantEnd) {
        switch end {
        case .usedUp: self = .usedUp
        case .expired: self = .expired
        case .expiredIdle: self = .expiredIdle
        case .revoked: self = .revoked
        }
    }

    /// How far the use came. A lease that fits and has ended came furthest. Of several such leases the refusal names the newest.
    package var place: Int { min(Self.allCases.firstIndex(of: self)!, Self.allCases.firstIndex(of: .revoked)!) }

    /// Whether the lease is the program's and names the object. A program with another lease, or none, is asked as ever.
    package var concernsProgramAndObject: Bool { place >= Self.otherOperation.place }

    private var words: String {
        switch self {
        case .otherProgram: "The lease is another program's"
        case .otherDoor: "The lease is for another door"
        case .otherObject: "The program's lease names other objects"
        case .otherOperation: "The program's lease is for another operation"
        case .otherDestination: "The program's lease is for another destination"
        case .programChanged: "The program's file is another one than the lease is for"
        case .otherTerminal: "The program's lease is for another terminal or session"
        case .revoked: "The lease was revoked"
        case .locked: "The lease has ended with a lock"
        case .sessionEnded: "The lease has ended with the session"
        case .factorsChanged: "The lease has ended, because the passcode, the fingers or the security keys have changed"
        case .accountEnded: "The lease has ended with the daemon's service for its owner"
        case .usedUp: "The lease has no use left"
        case .expired: "The lease has reached its end"
        case .expiredIdle: "The lease was not used for as long as its limit permits"
        case .objectRemoved: "The object of the lease was removed"
        case .objectChanged: "The object of the lease has changed since"
        case .objectLimit: "The object's own limits end its use under the lease"
        }
    }

    /// The refusal of a use for which nobody can be asked.
    ///
    /// - Parameter id: the lease's.
    package func refusal(of id: UInt64) -> Refusal {
        var refusal = Refusal(
            .notAuthorized,
            "\(words), and nobody can be asked. `ostiary lease list` shows what is open; `ostiary lease grant` asks.",
            cause: rawValue)
        refusal.leaseID = id
        return refusal
    }
}
