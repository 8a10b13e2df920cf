import AccessControl
import Foundation
import OstiaryClient

/// A right in `--json` of `right show`, `right list` and `right create`.
struct RightDocument: Encodable {
    let id: Data
    let name: String
    /// Each permitted operation and its rule.
    let rules: [String: String]
    let availability: String
    let limits: GrantLimitsDocument?
    /// Whether the person is asked for each signature, and sees what is signed.
    let confirmsEachSignature: Bool
    /// The greatest limits of a lease; absent where each signature is confirmed without exception, and where none is.
    let leaseLimits: GrantLimitsDocument?
    /// Whether a lease may let a program use it without another question.
    let permitsLeases: Bool
    /// The limits of a key that signs for SSH alone; absent for every other one.
    let ssh: SSHLimitsDocument?
    let publicKey: Data
    let hasSecret: Bool
    let createdAt: Timestamp
    let enclave: String
    let application: String
    fileprivate let requires: String

    private enum CodingKeys: CodingKey {
        case id, name, rules, availability, limits, confirmsEachSignature, leaseLimits, permitsLeases, ssh, publicKey,
            hasSecret, createdAt, enclave, application
    }

    init(_ right: StoredRight) {
        id = right.id
        name = right.identifier
        let access = right.accessControl
        rules = Dictionary(
            uniqueKeysWithValues: access.operations.compactMap { operation in
                access[operation].map { (operation.name, $0.description) }
            })
        availability = access.availability.name
        limits = access.limits.map(GrantLimitsDocument.init)
        confirmsEachSignature = access.confirmsEachSignature
        leaseLimits = access.leaseLimits.map(GrantLimitsDocument.init)
        permitsLeases = !access.confirmsEachSignature || access.leaseLimits != nil
        ssh = right.sshConstraints.map(SSHLimitsDocument.init)
        publicKey = right.publicKey
        hasSecret = right.hasSecret
        createdAt = Timestamp(right.createdAt)
        enclave = right.enclaveKind
        application = right.application
        requires = access.keyRequirement.description + (access.isAtTrustedPlace ? PlacedRule.suffix : "")
    }
}

/// How long an authorization lives and how many uses it has.
struct GrantLimitsDocument: Encodable {
    let idleSeconds: UInt32?
    let hardSeconds: UInt32?
    let uses: UInt32?
    /// `trusted`; nil for anywhere.
    let place: String?

    init(_ limits: GrantLimits) {
        (idleSeconds, hardSeconds, uses) = (limits.idleSeconds, limits.hardSeconds, limits.uses)
        place = limits.isAtTrustedPlace ? "trusted" : nil
    }

    var text: String {
        let parts = [
            idleSeconds.map { "\($0) s without a use" }, hardSeconds.map { "\($0) s in any case" },
            uses.map { $0 == 1 ? "1 use" : "\($0) uses" }, place.map { _ in "proved at the trusted place" },
        ]
        return parts.compactMap(\.self).joined(separator: ", ")
    }
}

/// `right list --json`, and the table for people: rights by name, then rows that are refused by id.
struct RightListDocument: Encodable {
    /// A row that the daemon refuses to show.
    struct Unreadable: Encodable {
        let id: Data
        let unreadableBecause: String
    }

    let rights: [RightDocument]
    let unreadable: [Unreadable]

    init(_ list: [ListedRight]) {
        var (rights, unreadable) = ([RightDocument](), [Unreadable]())
        for row in list {
            switch row {
            case .intact(let right): rights.append(RightDocument(right))
            case .unreadable(let id, let reason): unreadable.append(Unreadable(id: id, unreadableBecause: reason))
            }
        }
        self.rights = rights.sorted { ($0.name, $0.application) < ($1.name, $1.application) }
        self.unreadable = unreadable.sorted { $0.id.lexicographicallyPrecedes($1.id) }
    }

    /// - Parameter showsApplications: adds the program that made each right.
    func text(showsApplications: Bool, in timeZone: TimeZone = .current) -> String {
        guard !rights.isEmpty || !unreadable.isEmpty else { return "" }
        var table = TextTable(
            header: ["NAME", "REQUIRES", "AVAILABLE", "SECRET", "ENCLAVE", "CREATED"]
                + (showsApplications ? ["PROGRAM"] : []))
        for right in rights {
            table.append(
                right.name, right.requires, right.availability, right.hasSecret ? "yes" : "no", right.enclave,
                right.createdAt.localText(in: timeZone), showsApplications ? right.application : "")
        }
        var lines = rights.isEmpty ? [] : [table.text]
        lines += unreadable.map { "unreadable  \($0.id.hexadecimal)  \($0.unreadableBecause)".visibleLine }
        if !unreadable.isEmpty { lines.append("`ostiary right remove --id ID` removes an unreadable row.") }
        return lines.joined(separator: "\n")
    }
}

extension RightDocument {
    private var leases: String {
        guard permitsLeases else { return "none" }
        return leaseLimits.map { "permitted, \($0.text)" } ?? "permitted"
    }

    /// The text that `right show` prints.
    func text(in timeZone: TimeZone = .current) -> String {
        var table = TextTable()
        table.append("Name", name)
        table.append("Id", id.hexadecimal)
        table.append("Available", availability)
        for operation in AccessControl.Operation.allCases {
            table.append("To \(operation.phrase)", rules[operation.name] ?? "not permitted")
        }
        if let limits { table.append("Limits", limits.text) }
        if confirmsEachSignature {
            table.append(
                "Confirms",
                "each signature; " + (enclave == "tpm" ? "the TPM signs only what was shown" : "the daemon checks it"))
        }
        table.append("Leases", leases)
        if let ssh {
            table.append("For SSH", ssh.text)
            for pin in ssh.pins { table.append("Pinned to", pin) }
        }
        table.append("Secret", hasSecret ? "yes" : "no")
        table.append("Enclave", enclave)
        table.append("Created", createdAt.localText(in: timeZone))
        table.append("By", application)
        return table.text
    }
}

extension AccessControl.Operation {
    fileprivate var phrase: String { self == .keyExchange ? "exchange keys" : name }
}

/// Whether a signature is valid: `right verify --json`, and the line for people.
struct SignatureVerdictDocument: Encodable {
    let valid: Bool

    var text: String { valid ? "The signature is valid." : "The signature is NOT valid." }
}

/// The proved factors: `right authorize --json`, and the line for people.
struct AuthorizationDocument: Encodable {
    let factors: [String]
    let strength: String

    init(_ grant: Grant) {
        factors = grant.factors
        strength = grant.strength
    }

    var text: String { "Authorized: \(AuthorizedRight.proof(factors: factors, strength: strength))" }
}
