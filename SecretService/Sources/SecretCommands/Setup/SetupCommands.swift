import ArgumentParser
import SecretItems

/// `ostiary-secrets enable`, which is what `ostiary secrets enable` becomes.
struct EnableCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable", abstract: "Does the work of `ostiary secrets enable`, which is what to use.")

    @Flag(help: "Serve the secrets of applications in sandboxes, too.")
    var portal = false

    @OptionGroup var output: OutputOptions

    func run() throws {
        try output.run { (output) throws(SecretsFailure) in
            let steps = try KeyringSetup.ofThisSession().enable(portal: portal)
            try output.steps(StepsDocument(steps: steps), steps)
            return .done
        }
    }
}

/// `ostiary-secrets disable`, which is what `ostiary secrets disable` becomes.
struct DisableCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable", abstract: "Does the work of `ostiary secrets disable`, which is what to use.")

    @OptionGroup var output: OutputOptions

    func run() throws {
        try output.run { (output) throws(SecretsFailure) in
            let steps = try KeyringSetup.ofThisSession().disable()
            try output.steps(StepsDocument(steps: steps), steps)
            return .done
        }
    }
}

/// `ostiary-secrets status`, which is what `ostiary secrets status` becomes.
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Does the work of `ostiary secrets status`, which is what to use.")

    @OptionGroup var output: OutputOptions

    func run() throws {
        try output.run { (output) throws(SecretsFailure) in
            let document = try KeyringStatus(KeyringSetup.ofThisSession(), DaemonKeyring())
            try output.result(document, document.text)
            return .done
        }
    }
}

/// What was done, a sentence each.
struct StepsDocument: Encodable {
    let steps: [String]
}

extension KeyringSetup {
    static func ofThisSession() throws(SecretsFailure) -> KeyringSetup {
        let program = try OwnProgram.path()
        return KeyringSetup(
            folders: try SessionFolders.ofThisSession(), program: program, bus: SessionBus.ofThisSession(),
            isRegistered: { () throws(SecretsFailure) -> Bool in try OwnerSecrets.isRegistered(program) })
    }
}

/// `status --json`, and the lines for people.
struct KeyringStatus: Encodable {
    struct Owner: Encodable, Equatable {
        let program: String?
        let processID: UInt32?
        let isOurs: Bool
    }

    let isEnabled: Bool
    let isPortalEnabled: Bool
    /// Absent while nobody has the name.
    let owner: Owner?
    /// Items and collections; absent if the daemon does not say it.
    let itemCount: Int?
    let collectionCount: Int?
    /// For people.
    private let ownerWords: String
    private let failure: String?

    private enum CodingKeys: String, CodingKey {
        case isEnabled = "enabled"
        case isPortalEnabled = "portal"
        case owner
        case itemCount = "items"
        case collectionCount = "collections"
    }

    init(_ setup: KeyringSetup, _ keyring: any OwnerKeyring) throws(SecretsFailure) {
        isEnabled = try setup.isEnabled()
        isPortalEnabled = try setup.isPortalEnabled()
        let found = try setup.bus?.owner(of: KeyringSetup.service)
        owner = found.map { Owner(program: $0.program, processID: $0.processID, isOurs: $0.isOurs) }
        let nobody =
            setup.bus == nil ? "There is no session's bus here." : "Nobody has the name \(KeyringSetup.service) now."
        ownerWords = found.map { "\($0.words) has the name \(KeyringSetup.service) now." } ?? nobody
        let counts = Self.counts(keyring)
        switch counts {
        case .success(let counts): (itemCount, collectionCount, failure) = (counts.items, counts.collections, nil)
        case .failure(let error): (itemCount, collectionCount, failure) = (nil, nil, error.description)
        }
    }

    /// A daemon that does not answer is a part of the status.
    private static func counts(
        _ keyring: any OwnerKeyring
    ) -> Result<(items: Int, collections: Int), SecretsFailure> {
        do throws(SecretsFailure) {
            let items = try keyring.list(SecretQuery()).count
            return .success((items, try OwnedCollections(of: keyring).all.count))
        } catch { return .failure(error) }
    }

    var text: String {
        [
            isEnabled
                ? "Ostiary's keyring is enabled."
                : "Ostiary's keyring is not enabled; `ostiary secrets enable` does that.",
            isPortalEnabled
                ? "`ostiary secrets enable --portal` has the bus start it for the portal, too."
                : "`ostiary secrets enable --portal` was not run. Packages bring its file for all users.",
            ownerWords, storedWords,
        ].joined(separator: "\n")
    }

    private var storedWords: String {
        guard let itemCount, let collectionCount else { return "What is stored is not known: \(failure ?? "")" }
        return "Stored: \(itemCount == 1 ? "1 item" : "\(itemCount) items") in "
            + (collectionCount == 1 ? "1 collection." : "\(collectionCount) collections.")
    }
}
