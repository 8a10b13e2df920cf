import Foundation
import OstiaryClient

/// A lease in `lease list --json`, `lease grant --json` and `status --json`.
struct LeaseDocument: Encodable {
    struct Object: Encodable {
        let id: Data
        let kind: String
        let name: String
    }

    let id: String
    let objects: [Object]
    let program: String
    /// The door through which the program asks; absent where it asks itself, `any` for any.
    let door: String?
    let operations: [String]
    /// Absent for any; an empty text for uses without a destination.
    let destinations: [String]?
    let purpose: String
    let factors: [String]
    let strength: String
    let since: Timestamp
    let ends: Timestamp
    /// When it ends unless it is used before; absent without such a limit.
    let endsUnused: Timestamp?
    let useCount: UInt32
    /// Absent without a limit of uses.
    let usesLeft: UInt32?
    let endsOnLock: Bool
    /// The only session whose processes may use it; absent for any.
    let session: UInt32?
    /// The terminal of that session; absent without one.
    let terminal: String?

    init(_ lease: Lease) {
        id = GrantDocument.digits(lease.id)
        objects = lease.objects.map { Object(id: $0.id, kind: $0.kind, name: $0.name) }
        program = lease.program
        door =
            switch lease.door {
            case .none: nil
            case .door(let name): name
            case .any: "any"
            }
        operations = lease.operations
        destinations = lease.destinations
        purpose = lease.purpose
        factors = lease.factors
        strength = lease.strength
        since = Timestamp(lease.since)
        ends = Timestamp(lease.ends)
        endsUnused = lease.endsUnused.map { Timestamp($0) }
        useCount = lease.useCount
        usesLeft = lease.usesLeft
        endsOnLock = lease.endsOnLock
        (session, terminal) = (lease.session?.id, lease.session?.terminal)
    }

    fileprivate var user: String { door.map { "\(program), through \($0)" } ?? program }

    fileprivate var objectNames: String { objects.map(\.name).joined(separator: ", ") }

    fileprivate var places: String {
        destinations.map { $0.map { $0.isEmpty ? "none" : $0 }.joined(separator: ", ") } ?? "any"
    }

    /// Where its program may use it alone; nil for everywhere.
    fileprivate var place: String? { session.map { terminal ?? "session \($0)" } }

    /// The lease on one line, such as `5f1c0d2ab34e9977: /usr/bin/git may sign “work” for any destination until 12:00, 3 uses left`.
    var summary: String {
        let uses = usesLeft.map { $0 == 1 ? ", 1 use left" : ", \($0) uses left" } ?? ""
        let place = place.map { " in \($0)" } ?? ""
        let objects = "“\(objectNames)”" + (destinations == nil ? " for any destination" : "")
        let operations = operations.joined(separator: ", ")
        return "\(id): \(user)\(place) may \(operations) \(objects) until \(ends.localText())\(uses)"
    }
}

/// `lease list --json`, and the table for people.
struct LeaseListDocument: Encodable {
    let leases: [LeaseDocument]
    /// The number of leases of other programs, which this one is not told of; absent if there is none.
    let hidden: Int?

    init(_ list: LeaseList) {
        leases = list.leases.map(LeaseDocument.init)
        hidden = list.hiddenCount == 0 ? nil : list.hiddenCount
    }

    /// A line about leases that are not shown; nil without any.
    var hint: String? { hidden.map(Self.hint) }

    static func hint(_ hidden: Int) -> String {
        let number = hidden == 1 ? "1 lease of another program is" : "\(hidden) leases of other programs are"
        return "\(number) not shown. `ostiary doors register` registers this command, which then shows all."
    }

    func text(in timeZone: TimeZone = .current) -> String {
        var table = TextTable(
            header: [
                "ID", "PROGRAM", "OBJECTS", "OPERATIONS", "FOR", "IN", "PURPOSE", "ENDS", "USED", "USES LEFT", "LOCK",
            ])
        for lease in leases {
            table.append(
                lease.id, lease.user, lease.objectNames, lease.operations.joined(separator: ", "), lease.places,
                lease.place ?? "any", lease.purpose, lease.ends.localText(in: timeZone), "\(lease.useCount)",
                lease.usesLeft.map { "\($0)" } ?? "", lease.endsOnLock ? "ends it" : "")
        }
        return table.text
    }
}
