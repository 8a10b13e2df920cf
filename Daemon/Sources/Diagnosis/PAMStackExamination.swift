import Foundation
import OstiaryMessages
import PAMProtocol

/// What the doctor finds about the lines of `/etc/pam.d` with `pam_ostiary.so`: what each does, and which order is dangerous.
///
/// It knows the results of our own module, and of others only that they check a password or always refuse. So it names what surely
/// happens, and is silent about the rest.
struct PAMStackExamination {
    static let check = "sign-in"
    private static let module = "pam_ostiary.so"

    /// Where service files are.
    let folder: String
    /// Where libpam looks for modules that are named without a folder.
    let moduleFolders: [String]

    init(folder: String = PAMServiceFile.standardFolder, moduleFolders: [String]? = nil) {
        self.folder = folder
        self.moduleFolders = moduleFolders ?? Self.standardModuleFolders
    }

    /// A distribution keeps modules below the libraries of each architecture.
    private static var standardModuleFolders: [String] {
        ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"].flatMap { folder in
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return ([""] + names.filter { $0.contains("-linux-") }.map { "/" + $0 }).map { folder + $0 + "/security" }
        }
    }

    func findings() -> [WireFinding] {
        guard FileManager.default.fileExists(atPath: folder) else { return [.ok(Self.check, "There is no \(folder).")] }
        let files: PAMServiceFolder
        do { files = try PAMServiceFolder(folder) } catch {
            return [.notice(Self.check, "\(folder) cannot be read.", advice: "Run `ls -ld \(folder)`.")]
        }
        var (judged, faults) = (Judgements(), [WireFinding]())
        for service in files.services {
            do throws(PAMStackFault) { try judge(service, of: files, &judged) } catch {
                faults.append(
                    .notice(
                        Self.check, "It is not known what happens in the service \(service): \(error).",
                        advice: "libpam refuses everybody there. Correct the file."))
            }
        }
        guard !judged.services.isEmpty || files.names(Self.module) else {
            return [.ok(Self.check, "No line of \(folder) has \(Self.module), so sign-ins know nothing of Ostiary.")]
        }
        judged.addMissingHalf()
        return judged.findings() + faults
    }

    /// The lines with the module, the services where each has its turn, and what is wrong with it.
    private struct Judgements {
        var services: [PAMModuleLine: [String]] = [:]
        var warnings: [PAMModuleLine: Set<PAMStackWarning>] = [:]
        /// Whether one service keeps a password and opens the store with it.
        var isWhole = false

        mutating func add(_ found: [PAMStackWarning], to line: PAMModuleLine, in service: String) {
            if services[line]?.last != service { services[line, default: []].append(service) }
            warnings[line, default: []].formUnion(found)
        }

        mutating func addMissingHalf() {
            guard !isWhole else { return }
            for line in services.keys where line.isUnderstood && (line.keepsPassword || line.type == .session) {
                warnings[line, default: []].insert(.half)
            }
        }

        func findings() -> [WireFinding] {
            services.keys.sorted { ($0.file, $0.number) < ($1.file, $1.number) }.map { line in
                let names = services[line, default: []]
                let shown = names.prefix(4).joined(separator: ", ") + (names.count > 4 ? ", …" : "")
                let message = "\(line.place) (\(shown)): \(line.deed)."
                let found = (warnings[line] ?? []).sorted { $0.words < $1.words }
                guard !found.isEmpty else { return .ok(PAMStackExamination.check, message) }
                let words = ([message] + found.map(\.words)).joined(separator: " ")
                let advice = found.map(\.advice).joined(separator: " ")
                return found.contains { $0.isProblem }
                    ? .problem(PAMStackExamination.check, words, advice: advice)
                    : .notice(PAMStackExamination.check, words, advice: advice)
            }
        }
    }

    private func judge(
        _ service: String, of files: PAMServiceFolder, _ judged: inout Judgements
    ) throws(PAMStackFault) {
        var (keeps, opens) = (false, false)
        for kind in PAMStack.Kind.allCases {
            let stack = try files.stack(kind, of: service)
            for (index, entry) in stack.entries.enumerated() {
                guard let line = entry.line, line.isOf(Self.module) else { continue }
                judged.add(warnings(about: line, at: index, in: stack), to: line, in: service)
                keeps = keeps || (line.isUnderstood && line.keepsPassword)
                opens = opens || (line.isUnderstood && line.type == .session)
            }
        }
        judged.isWhole = judged.isWhole || (keeps && opens)
    }

    private func isMissing(_ module: String) -> Bool {
        let places = module.hasPrefix("/") ? [module] : moduleFolders.map { "\($0)/\(module)" }
        return !places.contains { FileManager.default.fileExists(atPath: $0) }
    }

    private func warnings(about line: PAMModuleLine, at index: Int, in stack: PAMStack) -> [PAMStackWarning] {
        let refusesWithoutModule = [.bad, .die].contains(line.control.withoutModule)
        if isMissing(line.module) { return [refusesWithoutModule ? .missing : .missingAndPassedOver] }
        if let word = line.unknownOption { return [.unknownOption(word)] }
        switch line.type {
        case .account: return [refusesWithoutModule ? .withoutAccount : .withoutAccountAndPassedOver]
        case .auth where line.keepsPassword: return stack.warnings(aboutKeepingAt: index)
        case .auth: return stack.warnings(aboutAsking: line, at: index)
        case .session: return stack.isOf(Self.module) ? [.undecided] : []
        case .password:
            if stack.isOf(Self.module) { return [.undecided] }
            return stack.checksPassword(before: index) ? [] : [.tooEarly]
        }
    }
}

/// What is wrong with a line.
enum PAMStackWarning: Hashable {
    /// The module does nothing for a line with a word that it does not know.
    case unknownOption(String)
    /// It has no function for `account`.
    case withoutAccount, withoutAccountAndPassedOver
    case missing, missingAndPassedOver
    /// Nobody signs in while the daemon is not there.
    case needsDaemon
    /// Lines that may refuse are passed over.
    case passesOver(String)
    /// A yes leads to a line that always refuses.
    case meetsDenial
    /// A yes leads to the end or past it, where libpam refuses whom no line has let in.
    case leadsNowhere
    /// It asks, and its yes changes nothing.
    case countsForNothing
    /// Who gives no answer may have no password either.
    case emptyPassword(String)
    /// No line before it has a password to keep.
    case nothingToKeep
    /// A right password ends the stack before it.
    case unreached
    /// Passwords are kept and not used, or used and not kept.
    case half
    /// All lines are the module's own, and it decides nothing there.
    case undecided
    /// The password is not changed yet.
    case tooEarly

    var isProblem: Bool {
        switch self {
        case .unknownOption, .withoutAccount, .missing, .needsDaemon, .passesOver, .meetsDenial, .leadsNowhere,
            .undecided:
            true
        case .withoutAccountAndPassedOver, .missingAndPassedOver, .countsForNothing, .emptyPassword, .nothingToKeep,
            .unreached, .half, .tooEarly:
            false
        }
    }

    var words: String {
        switch self {
        case .unknownOption(let word): "It does nothing, because it has an unknown word: \(word)."
        case .withoutAccount: "The module has no part for account, so everybody is refused."
        case .withoutAccountAndPassedOver: "The module has no part for account, so it does nothing."
        case .missing: "The module is not installed, so everybody is refused."
        case .missingAndPassedOver: "The module is not installed, so it does nothing."
        case .needsDaemon: "While ostiaryd does not answer, everybody is refused."
        case .passesOver(let place): "Who is recognised passes over \(place), which may refuse."
        case .meetsDenial: "Who is recognised is refused: the next line is pam_deny.so."
        case .leadsNowhere: "Who is recognised is refused: no line is left that lets anybody in."
        case .countsForNothing: "It asks, and the next lines ask all the same."
        case .emptyPassword(let place): "Enter alone goes on to \(place), which lets in users with an empty password."
        case .nothingToKeep: "No line before it asks for a password, so it keeps none."
        case .unreached: "It has no turn when the password was right, so it keeps none."
        case .half: "No service both keeps the password and opens the store with it."
        case .undecided: "No other line decides, so everybody is refused."
        case .tooEarly: "The lines that change the password come later, so it tells of nothing."
        }
    }

    var advice: String {
        switch self {
        case .unknownOption: "See pam_ostiary(8) for its words."
        case .withoutAccount, .withoutAccountAndPassedOver: "Remove the line."
        case .missing, .missingAndPassedOver: "Install the module, or remove the line."
        case .needsDaemon: "Write [success=N default=ignore] or sufficient, with a line for the password behind it."
        case .passesOver: "Move this line behind it."
        case .meetsDenial, .leadsNowhere:
            "success=N passes over the next N lines: correct it, to a line such as `required pam_permit.so`."
        case .countsForNothing: "Write sufficient, or [success=N default=ignore]."
        case .emptyPassword: "Take nullok away there, or give each user a password."
        case .nothingToKeep, .unreached: "Move it behind the lines that check the password, where a right one leads."
        case .half: "Use lines of auth (stash) and session together, as pam-auth-update's profile ostiary-store does."
        case .undecided: "Keep a line such as pam_unix.so in the stack."
        case .tooEarly: "Move it behind them."
        }
    }
}

extension PAMModuleLine {
    private static let options: Set = ["stash", "no-ask", "no-terminal", "remote", "debug"]
    /// Modules that check or change a password. A sign-in may pass over them.
    private static let ofPasswords = [
        "pam_unix.so", "pam_sss.so", "pam_ldap.so", "pam_krb5.so", "pam_winbind.so", "pam_systemd_home.so",
    ]
    /// Other modules that a sign-in may pass over: they decide alone who it is, or refuse whoever comes so far.
    private static let ofPersons = ["pam_deny.so", "pam_permit.so", "pam_fprintd.so", "pam_howdy.so", "pam_ostiary.so"]

    var unknownOption: String? { arguments.first { !Self.options.contains($0) } }
    var isUnderstood: Bool { unknownOption == nil }
    var keepsPassword: Bool { type == .auth && arguments.contains("stash") }
    var checksPassword: Bool { Self.ofPasswords.contains { isOf($0) } }
    var isDenial: Bool { isOf("pam_deny.so") }

    /// Whether it may refuse somebody who was recognised.
    var isGate: Bool {
        [.bad, .die].contains(control.failure) && !checksPassword && !Self.ofPersons.contains { isOf($0) }
    }

    /// What the module does at this line, as the end of a sentence.
    var deed: String {
        switch type {
        case .auth where keepsPassword: "keeps the password to open the store with"
        case .auth where arguments.contains("no-ask"): "waits for a finger or a security key"
        case .auth: "asks for a finger, a security key or the passcode"
        case .account: "is none of this module's"
        case .session: "opens the store with the password that was kept"
        case .password: "tells ostiaryd of a changed password"
        }
    }
}

extension PAMStack {
    /// Whether all lines call one module.
    func isOf(_ module: String) -> Bool { entries.allSatisfy { $0.line?.isOf(module) ?? true } }

    func checksPassword(before index: Int) -> Bool { entries[..<index].contains { $0.line?.checksPassword == true } }

    func warnings(aboutAsking line: PAMModuleLine, at index: Int) -> [PAMStackWarning] {
        var found: [PAMStackWarning] = []
        let control = line.control
        if [.bad, .die].contains(control.unavailable) { found.append(.needsDaemon) }
        switch control.success {
        case .ignore, .bad, .die, .reset: found.append(.countsForNothing)
        case .ok: if control.unavailable == .ignore { found.append(.countsForNothing) }
        case .done, .jump: found += warnings(aboutYesAt: index, control.success)
        }
        let later = entries[(index + 1)...].compactMap(\.line)
        if control.isSufficient, let empty = later.first(where: { $0.arguments.contains("nullok") }) {
            found.append(.emptyPassword(Self.name(empty)))
        }
        return found
    }

    private static func name(_ line: PAMModuleLine) -> String { "\(line.module) (\(line.place))" }

    private func warnings(aboutYesAt index: Int, _ action: PAMControl.Action) -> [PAMStackWarning] {
        guard let next = next(after: index, action) else { return [.leadsNowhere] }
        let passed = entries[(index + 1)..<next].compactMap(\.line)
        let found = passed.filter(\.isGate).map { PAMStackWarning.passesOver(Self.name($0)) }
        // `done` itself is a yes; a jump is none.
        guard action != .done else { return found }
        guard next < entries.count else {
            let isLetIn = entries[..<index].contains { $0.line?.control.success == .ok }
            return isLetIn ? found : found + [.leadsNowhere]
        }
        return entries[next].line?.isDenial == true ? found + [.meetsDenial] : found
    }

    func warnings(aboutKeepingAt index: Int) -> [PAMStackWarning] {
        let checks = entries.indices.prefix(index).filter { entries[$0].line?.checksPassword == true }
        guard !checks.isEmpty else { return [.nothingToKeep] }
        return checks.contains { leads(from: $0, to: index) } ? [] : [.unreached]
    }

    /// Whether a right password at one line leads to another one, if no line between ends the stack by a yes of its own.
    private func leads(from check: Int, to end: Int) -> Bool {
        guard let control = entries[check].line?.control, var place = next(after: check, control.success) else {
            return false
        }
        while place < end, entries[place].line?.isDenial != true { place += 1 }
        return place == end
    }
}
