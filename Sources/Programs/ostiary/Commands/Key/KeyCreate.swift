import AccessControl
import ArgumentParser
import Foundation
import OstiaryClient
import OstiaryMessages

struct KeyCreate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Make a P-256 key in the enclave.",
        discussion: """
            Examples:
              ostiary key create release --require passcode
              ostiary key create backup --tag org.example.backup
              ostiary key create transfers --require passcode --confirm-each
            """)

    @Argument(help: "The label of the key.", transform: KeyArgument.checkedLabel) var label: String

    @OptionGroup var protection: ProtectionOptions

    @Option(help: ArgumentHelp("The tag under which programs look for the key.", valueName: "text")) var tag: String?
    @Option(help: ArgumentHelp("The access group.", valueName: "group")) var group: String?

    @Flag(
        help: """
            Ask for each signature, and show what is signed. The key does nothing but sign. In a TPM the chip signs only \
            what was shown.
            """)
    var confirmEach = false

    @OptionGroup var leases: LeaseOptions
    @OptionGroup var reason: ReasonOption
    @OptionGroup var json: JSONFlag

    func validate() throws {
        guard try !confirmEach || protection.grantLimits == nil else { throw RightCreate.limitsOfConfirmedSignatures }
        guard confirmEach || !leases.allowLeases else { throw RightCreate.leasesWithoutConfirmation }
    }

    func run() throws {
        guard try KeyItems.matching(["labl": .text(label)]).isEmpty else {
            throw OstiaryError(.init(.duplicate), "There is a key called \(label.quotedName) already; it is kept.")
        }
        let requirement = try protection.requirement
        let isPasscodeSet = try OstiaryClient.shared.status().passcode.isSet
        let use = ItemUse(
            interaction: reason.interaction(otherwise: "choose the application password of the new key"))
        let key = try OstiaryClient.shared.createKey(
            .p256,
            accessControl: confirmEach
                ? AccessControl(
                    availability: protection.available, confirmingEachSignatureWith: requirement,
                    leases: leases.given())
                : AccessControl(
                    availability: protection.available, keyUse: requirement, limits: protection.grantLimits),
            accessGroup: group, awaitsItem: true, use: use)
        try addItem(of: key)
        let isAtPlace = protection.require?.isAtTrustedPlace ?? false
        let each = confirmEach ? " for each signature" : ""
        try json.announce(
            "Created \(label.visibleName), "
                + "\(ProtectionOptions.words(for: requirement, isAtTrustedPlace: isAtPlace))\(each); its id is "
                + "\(key.id.hexadecimal).",
            CreatedKeyDocument(
                id: key.id, label: label, requires: "\(requirement)" + (isAtPlace ? PlacedRule.suffix : ""),
                publicKey: key.publicKey))
        if !json.isGiven, !isPasscodeSet { StandardError.line(ItemAdd.missingPasscode) }
    }

    private func addItem(of key: EnclaveKey) throws {
        var attributes = key.itemAttributes
        attributes["labl"] = .text(label)
        attributes["pdmn"] = .text("dk")
        if let tag { attributes["atag"] = .data(Data(tag.utf8)) }
        if let group { attributes["agrp"] = .text(group) }
        // The rule is kept with the key. The key's item can always be read.
        _ = try OstiaryClient.shared.addItem(
            KeyItems.itemClass, attributes: attributes,
            accessControl: AccessControl(availability: .always, using: .unrestricted), keyID: key.id)
    }
}

/// `key create --json`.
struct CreatedKeyDocument: Encodable {
    let id: Data
    let label: String
    let requires: String
    /// X9.63, uncompressed.
    let publicKey: Data
}

extension AccessControl {
    /// The access control of a key whose private operations ask for `requirement`.
    fileprivate init(availability: AvailabilityClass, keyUse requirement: Requirement, limits: GrantLimits?) {
        do {
            try self.init(
                availability: availability,
                requirements: [
                    .create: .unrestricted, .sign: requirement, .decrypt: requirement, .keyExchange: requirement,
                    .delete: .unrestricted,
                ], limits: limits)
        } catch {
            // One requirement for every use cannot contradict another.
            preconditionFailure("\(error)")
        }
    }
}
