import AccessControl
import ArgumentParser
import DoorSupport
import Foundation
import OstiaryClient
import OstiaryMessages
import SSHAgent
import SSHFormats

struct SSHCreate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Make a key for ssh and git that never leaves the enclave.",
        discussion: """
            The key is ECDSA on P-256. Each signature is confirmed; the question shows user, host and program, or the \
            namespace. With --allow-leases you can answer for a time or for a number of signatures, so that a rebase asks once. It \
            prints the public half for authorized_keys, or for a forge.

            \(SSHLimitOptions.discussion)

            Examples:
              ostiary ssh create work --require passcode > ~/.ssh/work.pub
              ostiary ssh create deploy --host deploy.example.org --no-forwarding
              ostiary ssh create signer --namespace git --allow-leases --lease-time 30m
            """)

    @Argument(help: "The name of the new key.", transform: RightArgument.checkedName) var name: String

    @Option(
        help: ArgumentHelp("The rule for a signature (default: \(RuleArgument.standard)).", valueName: "rule"),
        transform: RuleArgument.init)
    var require: RuleArgument?

    @OptionGroup var limits: SSHLimitOptions

    @Flag(help: "Ask as the rule says, but do not have each signature confirmed.") var withoutConfirmation = false

    @OptionGroup var leases: LeaseOptions
    @OptionGroup var reason: ReasonOption
    @OptionGroup var json: JSONFlag

    func validate() throws {
        guard !withoutConfirmation || !leases.allowLeases else {
            throw ValidationError(
                "--allow-leases belongs to keys that confirm each signature. One with --without-confirmation permits leases anyway."
            )
        }
    }

    func run() throws {
        let rule = try require ?? RuleArgument(RuleArgument.standard)
        guard withoutConfirmation || !rule.isAtTrustedPlace else {
            throw CommandError.usage(
                "A rule at the trusted place has no confirmation besides; add --without-confirmation.")
        }
        let constraints = try limits.constraints()
        let created = try create(rule, constraints)
        guard let key = try HeldKey(created) else { throw CommandError.sshKey("The daemon made no key for SSH.") }
        if json.isGiven {
            return try JSONOutput.print(
                SSHKeyDocument(
                    key, requires: "\(rule.requirement)", leaseLimits: created.accessControl.leaseLimits))
        }
        let words = SSHLimitWords(constraints)
        let needs = ProtectionOptions.words(for: rule.requirement, isAtTrustedPlace: rule.isAtTrustedPlace)
        StandardError.line(
            "Created \(name.visibleName), \(needs)\(withoutConfirmation ? "" : " for each signature"): "
                + "\(words.short.visibleLine).")
        for line in words.pinnedLines { StandardError.line(line) }
        try StandardOutput.line("\(key.publicKey.line) \(name)".visibleLine)
    }

    private func create(_ rule: RuleArgument, _ constraints: SSHKeyConstraints) throws -> StoredRight {
        let access =
            withoutConfirmation
            ? AccessControl(
                availability: .whenUnlocked, using: rule.requirement,
                limits: rule.isAtTrustedPlace ? try GrantLimits(isAtTrustedPlace: true) : nil)
            : AccessControl(
                availability: .whenUnlocked, confirmingEachSignatureWith: rule.requirement, leases: try leases.given())
        do {
            return try OstiaryClient.shared.createRight(
                name, accessControl: access, accessGroup: DoorProgram.accessGroup, sshConstraints: constraints,
                interaction: reason.interaction(otherwise: "make a key for SSH"))
        } catch let error as OstiaryError where error.isFailure(.missingEntitlement) {
            throw CommandError.notInDoorGroup
        } catch let error as OstiaryError where error.isFailure(.duplicate) {
            throw OstiaryError(
                error.code,
                "There is a key called \(name.quotedName) already; it is kept. `ostiary ssh remove` destroys it.",
                cause: error.cause)
        }
    }
}

extension CommandError {
    /// The command does not belong to the doors' group, as before the doors were registered.
    static let notInDoorGroup = CommandError.sshKey(
        "This command does not share keys with the agent yet, so no key was made. Run `ostiary doors register` once.")
}
