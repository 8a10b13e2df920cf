import AccessControl
import ArgumentParser
import DoorSupport
import Foundation
import OstiaryClient
import OstiaryMessages
import SSHAgent
import SSHFormats

struct SSHList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the keys for ssh and git; asks nobody.",
        discussion: """
            Passkeys of this machine that were made for ssh are listed, too. Keys that ssh-add gave to the agent are in its memory alone; `ssh-add -l` shows them, too.

            Examples:
              ostiary ssh list
              ostiary ssh list --public-keys >> ~/.ssh/authorized_keys
            """)

    @Flag(help: "Print the lines for authorized_keys.") var publicKeys = false
    @OptionGroup var json: JSONFlag

    func validate() throws {
        guard !publicKeys || !json.isGiven else { throw ValidationError("--json has the public keys; leave one out.") }
    }

    func run() throws {
        let keys = try SSHKeys.all()
        if json.isGiven {
            return try JSONOutput.print(
                SSHKeyListDocument(
                    keys: keys.map { SSHKeyDocument($0.key, requires: $0.requires, leaseLimits: $0.leaseLimits) }))
        }
        guard !keys.isEmpty else { return StandardError.line("There are no keys for SSH.") }
        if publicKeys {
            for key in keys { try StandardOutput.line("\(key.key.publicKey.line) \(key.key.name)".visibleLine) }
            return
        }
        var table = TextTable(header: ["NAME", "TYPE", "FINGERPRINT", "KEY", "REQUIRES", "FOR"])
        for row in keys {
            let key = row.key
            table.append(
                key.name, key.publicKey.name, key.publicKey.fingerprint.description,
                key.placeWords, row.requires ?? "", row.limitWords)
        }
        try StandardOutput.line(table.text)
    }
}

struct SSHRemove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Destroy a key for ssh and git.",
        discussion: """
            Asks on the terminal before it destroys anything. Scripts give --force; without it and without a terminal \
            nothing is removed.

            Example:
              ostiary ssh remove work
            """)

    @Argument(help: "The name of the key.", transform: RightArgument.checkedName) var name: String
    @OptionGroup var force: ForceFlag
    @OptionGroup var json: JSONFlag

    func run() throws {
        let all = try SSHKeys.all().map(\.key).filter { $0.name == name }
        let named = all.filter { !$0.isPasskey }
        guard let key = named.first else {
            guard all.isEmpty else { throw CommandError.sshPasskey(name) }
            throw OstiaryError(
                .init(.notFound), "There is no key for SSH called \(name.quotedName). `ostiary ssh list` shows them.")
        }
        let kinds = named.count > 1 ? ", both the one in the enclave and the imported one" : ""
        try Consent.require(
            "This destroys the key \(name.quotedName) (\(key.publicKey.fingerprint))\(kinds). Nobody can log in with it again.",
            force)
        for key in named { try remove(key) }
        try json.announce("Removed the key \(name.visibleName).", ["removed": name])
    }

    private func remove(_ key: HeldKey) throws {
        switch key.place {
        case .enclave: try OstiaryClient.shared.removeRight(name, accessGroup: DoorProgram.accessGroup)
        case .imported: try ImportedKey.remove(name, from: .shared)
        case .passkey: throw CommandError.sshPasskey(name)
        }
    }
}

extension HeldKey {
    /// For the table of keys.
    fileprivate var placeWords: String {
        switch place {
        case .enclave: "in the enclave"
        case .imported: "imported"
        case .passkey: "passkey"
        }
    }
}

extension CommandError {
    /// Several passkeys may have the name of the account, so a name does not say which one is to go.
    fileprivate static func sshPasskey(_ name: String) -> CommandError {
        .sshKey(
            "\(name.quotedName) is a passkey of this machine. `ostiary passkey remove` destroys it; `ostiary passkey list` shows its "
                + "id.")
    }
}

/// The keys of the doors' group with their rules, and the passkeys that were made for SSH.
enum SSHKeys {
    /// A key, and the rule for its signatures; nil where the list of the store does not say it.
    struct Row {
        let key: HeldKey
        let requires: String?
        /// The greatest limits of a lease, for a key that confirms each signature and permits leases.
        let leaseLimits: GrantLimits?

        /// Hosts and namespaces, and which leases a key permits that confirms each signature otherwise. For the table of keys.
        var limitWords: String {
            let leases = leaseLimits.map { "; leases: \(GrantLimitsDocument($0).text)" } ?? ""
            return SSHLimitWords(key.constraints).short + leases
        }
    }

    /// All passkeys have this rule.
    private static let ruleOfPasskeys = "biometry or passcode"

    /// By name. Asks nobody.
    static func all() throws -> [Row] {
        do {
            let rules = try KeysOfOstiary.rules(of: .shared)
            let leases = try leaseLimits()
            return try KeysOfOstiary.keys(of: .shared)
                .map { key in
                    let rule = key.isPasskey ? ruleOfPasskeys : rules[key.place.id]
                    return Row(key: key, requires: rule, leaseLimits: leases[key.place.id])
                }
                .sorted { ($0.key.name, $0.key.isImported ? 1 : 0) < ($1.key.name, $1.key.isImported ? 1 : 0) }
        } catch let error as OstiaryError where error.isFailure(.missingEntitlement) {
            throw CommandError.notInDoorGroup
        }
    }

    private static func leaseLimits() throws -> [Data: GrantLimits] {
        var limits: [Data: GrantLimits] = [:]
        for case .intact(let right) in try OstiaryClient.shared.rights(accessGroup: DoorProgram.accessGroup) {
            limits[right.id] = right.accessControl.leaseLimits
        }
        return limits
    }
}
