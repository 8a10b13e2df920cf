import OstiaryClient
import OstiaryMessages

/// `status --json`, and the table for people.
struct StatusDocument: Encodable {
    struct Passcode: Encodable {
        let isSet: Bool
        /// Nil, as the other one, when the counter of wrong tries does not verify.
        let failedAttempts: UInt32?
        /// Whole seconds.
        let lockedOutSeconds: Double?
        /// Nil while no change of the passcode is being made.
        let changing: Progress?
        /// What a login does with its password; nil where that is not told.
        let login: Login?
    }

    enum Login: String, Encodable {
        case never, tries, waits, follows, unreadable
    }

    struct Progress: Encodable {
        let done: UInt32
        let total: UInt32
    }

    struct Rights: Encodable {
        let count: UInt32
        let unreadableCount: UInt32
        /// True when the store's list cannot be read; absent otherwise.
        var isUnknown: Bool?
    }

    struct Factor: Encodable {
        let factor: String
        let available: Bool
        let strength: String
        let note: String
    }

    struct Biometry: Encodable {
        /// Nil when none can be used.
        let reader: String?
        let fingerCount: UInt32
        /// Wrong fingers in a row; nil when that cannot be read.
        let missCount: UInt32?
        let missLimit: UInt32
        /// The cause for which no finger can be used now; nil when one can.
        let obstacle: String?
        let waitsForPasscode: Bool
        let isSetKnown: Bool
        fileprivate let explanation: String

        private enum CodingKeys: CodingKey {
            case reader, fingerCount, missCount, missLimit, obstacle, waitsForPasscode, isSetKnown
        }
    }

    struct Program: Encodable {
        let path: String
        let label: String
    }

    let mode: String
    let daemonVersion: String
    let processID: UInt32
    let stateDirectory: String
    let enclave: String
    let unlocked: Bool
    let unlockedSinceStart: Bool
    let passcode: Passcode
    let rights: Rights
    let factors: [Factor]
    /// Nil for a daemon that uses no fingers.
    let biometry: Biometry?
    let logRecordCount: UInt64
    let program: Program
    /// What is open without another question; nil for a daemon that knows no leases.
    let leases: [LeaseDocument]?
    /// The number of leases of other programs that this one is not told of; absent if there is none.
    let hiddenLeases: Int?

    /// - Parameter leases: nil for a daemon that knows none.
    init(_ status: WireStatus, leases: LeaseList? = nil) {
        let list = leases.map(LeaseListDocument.init)
        (self.leases, hiddenLeases) = (list?.leases, list?.hidden)
        mode =
            switch status.mode {
            case .user: "user"
            case .system: "system"
            case .userForTests: "user-for-tests"
            case .unspecified, .UNRECOGNIZED: "unknown"
            }
        daemonVersion = status.daemonVersion
        processID = status.processID
        stateDirectory = status.stateDirectory
        enclave = status.enclaveKind
        unlocked = status.unlocked
        unlockedSinceStart = status.unlockedSinceStart
        passcode = Passcode(status.passcode)
        rights = Rights(
            count: status.rights.count, unreadableCount: status.rights.unreadableCount,
            isUnknown: status.rights.isUnknown ? true : nil)
        factors = status.factors.map {
            Factor(factor: $0.factor, available: $0.available, strength: $0.strength, note: $0.note)
        }
        biometry = status.biometry.map(Biometry.init)
        logRecordCount = status.logRecordCount
        program = Program(path: status.caller.program, label: status.caller.label)
    }
}

extension StatusDocument {
    var text: String {
        var facts = TextTable()
        facts.append("Daemon", "\(daemonVersion), process \(processID), \(modeText)")
        facts.append("State", stateDirectory)
        facts.append("Enclave", enclave)
        facts.append("Passcode", passcode.text)
        facts.append("Store", storeText)
        if let login = passcode.login { facts.append("Login", login.text) }
        if let biometry {
            facts.append("Reader", biometry.readerText)
            facts.append("Fingers", biometry.fingerText)
        }
        facts.append("Rights", rightsText)
        for lease in leases ?? [] { facts.append("Lease", lease.summary) }
        if let hiddenLeases { facts.append("Leases", LeaseListDocument.hint(hiddenLeases)) }
        facts.append("Audit log", logRecordCount == 1 ? "1 record" : "\(logRecordCount) records")
        let identity = IdentityLabel.explained(program.label)
        facts.append("This program", identity.isEmpty ? program.path : "\(program.path) (\(identity))")
        return facts.text + "\n\n" + factorTable.text
    }

    private var modeText: String {
        mode == "user-for-tests" ? "user mode, started with options for tests: see `ostiary doctor`" : "\(mode) mode"
    }

    private var storeText: String {
        if unlocked { return "unlocked" }
        return unlockedSinceStart ? "locked" : "locked; the passcode was not entered since the daemon started"
    }

    private var rightsText: String {
        guard rights.isUnknown != true else {
            return "unknown, because the store's list cannot be read: see `ostiary doctor`"
        }
        guard rights.unreadableCount > 0 else { return "\(rights.count)" }
        return "\(rights.count), and \(rights.unreadableCount) unreadable: see `ostiary right list`"
    }

    private var factorTable: TextTable {
        var table = TextTable(header: ["FACTOR", "AVAILABLE", "STRENGTH", "NOTE"])
        for factor in factors {
            table.append(factor.factor, factor.available ? "yes" : "no", factor.strength, factor.note)
        }
        return table
    }
}

extension StatusDocument.Passcode {
    fileprivate init(_ passcode: WirePasscodeStatus) {
        isSet = passcode.isSet
        failedAttempts = passcode.failedAttempts
        lockedOutSeconds = passcode.lockedOutSeconds?.rounded(.up)
        changing = passcode.changing.map { StatusDocument.Progress(done: $0.done, total: $0.total) }
        login = StatusDocument.Login(passcode.login)
    }

    fileprivate var text: String {
        var parts = [isSet ? "set" : "not set"]
        switch failedAttempts {
        case nil: parts.append("wrong tries unreadable: see `ostiary doctor`")
        case 0: break
        case 1: parts.append("1 wrong try")
        case let count?: parts.append("\(count) wrong tries")
        }
        if let seconds = lockedOutSeconds, seconds > 0 {
            parts.append("locked out for \(DurationText.text(seconds: seconds))")
        }
        if let changing { parts.append("being changed, \(changing.done) of \(changing.total) entries done") }
        return parts.joined(separator: ", ")
    }
}

extension StatusDocument.Login {
    fileprivate init?(_ use: WireLoginUse) {
        switch use {
        case .never: self = .never
        case .tries: self = .tries
        case .waits: self = .waits
        case .follows: self = .follows
        case .unreadable: self = .unreadable
        case .unspecified, .UNRECOGNIZED: return nil
        }
    }

    fileprivate var text: String {
        switch self {
        case .never: "never tries the login password"
        case .tries: "tries the login password"
        case .waits: "tries no password until you enter the passcode: the last one was another"
        case .follows: "opens the store with the login password"
        case .unreadable: "unreadable, so it tries no password: decide with `ostiary passcode follow-login`"
        }
    }
}

extension StatusDocument.Biometry {
    fileprivate init(_ biometry: WireBiometryStatus) {
        reader = biometry.sensor.isEmpty ? nil : biometry.sensor
        fingerCount = biometry.fingerCount
        missCount = biometry.missCount
        missLimit = biometry.missLimit
        obstacle = biometry.obstacle.isEmpty ? nil : biometry.obstacle
        waitsForPasscode = biometry.waitsForPasscode
        isSetKnown = biometry.isSetKnown
        explanation = biometry.explanation
    }

    fileprivate var readerText: String { reader ?? "none: \(explanation)" }

    fileprivate var fingerText: String {
        guard reader != nil else { return "none can be used" }
        var parts = [fingerCount == 0 ? "none enrolled" : "\(fingerCount) enrolled"]
        switch missCount {
        case nil: parts.append("wrong fingers unreadable")
        case 0?: break
        case let count?: parts.append("\(count) of \(missLimit) wrong fingers")
        }
        if fingerCount > 0, !isSetKnown { parts.append("current set unknown: see `ostiary doctor`") }
        let text = parts.joined(separator: ", ")
        return obstacle == nil || fingerCount == 0 ? text : "\(text). \(explanation)"
    }
}
