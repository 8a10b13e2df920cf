import Foundation
import OstiaryClient

/// An authorization in `grants list --json`.
struct GrantDocument: Encodable {
    static let idDigitCount = 16

    let id: String
    let kind: String
    let program: String
    let processID: UInt32
    let object: String
    let operations: [String]
    let factors: [String]
    let strength: String
    let since: Timestamp
    /// Absent for one that does not end by time.
    let ends: Timestamp?
    /// Absent for one without a limit of uses.
    let usesLeft: UInt32?

    init(_ grant: ListedGrant) {
        id = Self.digits(grant.id)
        kind = grant.kind
        program = grant.program
        processID = grant.processID
        object = grant.object
        operations = grant.operations
        factors = grant.factors
        strength = grant.strength
        since = Timestamp(grant.since)
        ends = grant.ends.map { Timestamp($0) }
        usesLeft = grant.usesLeft
    }
}

extension GrantDocument {
    /// The id of a grant or a lease.
    static func digits(_ id: UInt64) -> String {
        let digits = String(id, radix: 16)
        return String(repeating: "0", count: idDigitCount - digits.count) + digits
    }
}

/// `grants list --json`, and the table for people.
struct GrantListDocument: Encodable {
    let grants: [GrantDocument]

    init(_ grants: [ListedGrant]) { self.grants = grants.map(GrantDocument.init) }

    func text(in timeZone: TimeZone = .current) -> String {
        var table = TextTable(
            header: ["ID", "PROGRAM", "OBJECT", "OPERATIONS", "FACTORS", "LABEL", "SINCE", "ENDS", "USES LEFT"])
        for grant in grants {
            table.append(
                grant.id, "\(grant.program) (\(grant.processID))",
                grant.object.isEmpty ? "(\(grant.kind))" : grant.object,
                grant.operations.joined(separator: ", "), grant.factors.joined(separator: ", "), grant.strength,
                grant.since.localText(in: timeZone), grant.ends?.localText(in: timeZone) ?? "",
                grant.usesLeft.map { "\($0)" } ?? "")
        }
        return table.text
    }
}

/// `grants revoke --json`.
struct RevocationDocument: Encodable {
    let revoked: Int
}
