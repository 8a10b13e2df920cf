import AccessControl
import ArgumentParser
import Foundation
import OstiaryClient
import OstiaryMessages
import SecretMemory

struct ItemAdd: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add an item with a secret.",
        discussion: """
            Type the secret unseen, or give it in a file or pipe. It is never an argument, because others can see \
            arguments.

            Reading the secret needs the factors of a rule, “\(RuleArgument.standard)” unless --require names another. With \
            --unguarded it needs none: every program of the item's access group reads it unasked, as long as the store is \
            unlocked.

            With --class certificate the secret is a certificate in DER, whose subject, issuer, serial number and key are read \
            from it.

            Examples:
              ostiary item add --service example.com --account me
              pass show token | ostiary item add --service ci --account bot --unguarded
              ostiary item add --class internet --server example.com --account me
            """)

    @OptionGroup var item: ItemArguments
    @OptionGroup var input: SecretInput

    @Option(
        help: ArgumentHelp(
            "The rule for reading the secret (default: \(RuleArgument.standard)).", valueName: "rule"),
        transform: RuleArgument.init)
    var require: RuleArgument?

    @Flag(help: "Let every program of the item's access group read the secret without a question.")
    var unguarded = false

    @Option(
        help: ArgumentHelp(
            "When the item can be read at all: \(AvailabilityArgument.names.joined(separator: ", ")) (default: "
                + "\(AvailabilityClass.whenUnlocked)).", valueName: "class"),
        completion: .list(AvailabilityArgument.names), transform: AvailabilityArgument.availability)
    var available = AvailabilityClass.whenUnlocked

    @OptionGroup var reason: ReasonOption
    @OptionGroup var json: JSONFlag

    func validate() throws {
        guard require == nil || !unguarded else { throw ValidationError("Give either --require or --unguarded.") }
    }

    func run() throws {
        var attributes = try item.attributesOfNewItem()
        guard attributes.updateValue(.text(available.accessible), forKey: "pdmn") == nil else {
            throw CommandError.usage("Say with --available when the item can be read.")
        }
        let requirement = try requirement
        let secret = try input.read(prompt: "Secret")
        if item.itemClass == .certificate {
            attributes.merge(try CertificateItem.attributes(of: Data(exposing: secret))) { given, _ in given }
        }
        let isPasscodeSet = try OstiaryClient.shared.status().passcode.isSet
        let added = try OstiaryClient.shared.addItem(
            item.itemClass.name, attributes: attributes,
            accessControl: AccessControl(availability: available, reading: requirement, limits: limits),
            data: consume secret,
            use: ItemUse(interaction: reason.interaction(otherwise: "add an item")))
        try json.announce(
            "Added an item; \(Self.words(for: requirement))\(place). Its id is \(added.id.hexadecimal).",
            AddedItemDocument(id: added.id, requires: "\(requirement)\(place)"))
        if !json.isGiven, !isPasscodeSet { StandardError.line(Self.missingPasscode) }
    }

    private var requirement: Requirement {
        get throws { try unguarded ? .unrestricted : (require ?? RuleArgument(RuleArgument.standard)).requirement }
    }

    private var isAtTrustedPlace: Bool { !unguarded && require?.isAtTrustedPlace == true }
    private var place: String { isAtTrustedPlace ? PlacedRule.suffix : "" }

    private var limits: GrantLimits? {
        get throws(GrantLimitsError) { isAtTrustedPlace ? try GrantLimits(isAtTrustedPlace: true) : nil }
    }

    private static func words(for requirement: Requirement) -> String {
        requirement.factors.isEmpty
            ? "every program of its access group reads it without a question" : "reading it requires \(requirement)"
    }

    static let missingPasscode =
        "Warning: no passcode is set, so the store is never locked. Set one with `ostiary passcode set`."
}

/// `item add --json`.
struct AddedItemDocument: Encodable {
    let id: Data
    /// The rule for reading the item.
    let requires: String
}

extension AccessControl {
    /// The access control of an item that is read under `requirement` and changed and deleted without.
    init(availability: AvailabilityClass, reading requirement: Requirement, limits: GrantLimits? = nil) {
        do {
            try self.init(
                availability: availability,
                requirements: [
                    .create: .unrestricted, .read: requirement, .change: .unrestricted, .delete: .unrestricted,
                ], limits: limits)
        } catch {
            // One requirement for the only use cannot contradict another.
            preconditionFailure("\(error)")
        }
    }
}

extension AvailabilityClass {
    /// Apple's name of the class for what stays on this machine (`kSecAttrAccessible…ThisDeviceOnly`).
    var accessible: String {
        switch self {
        case .always: "dku"
        case .afterFirstUnlock: "cku"
        case .whenUnlocked: "aku"
        case .whenPasscodeSet: "akpu"
        }
    }
}
