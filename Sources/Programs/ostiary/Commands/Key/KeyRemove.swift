import ArgumentParser
import Foundation
import OstiaryClient

struct KeyRemove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Destroy a key of the enclave; data that was encrypted to it is lost.",
        discussion: """
            Asks on the terminal before it destroys a key by its label. Scripts give --force; without it and without a \
            terminal nothing is removed.

            With --id this destroys a key of any program, and the keychain items that stand for it. It asks you for \
            the passcode, or for a confirmation if no passcode is set. `ostiary key list --all` shows the ids.

            Examples:
              ostiary key remove release
              ostiary key remove --id 000102030405060708090a0b0c0d0e0f
            """)

    @Argument(help: "The label of the key, or its id.", transform: KeyArgument.checkedLabel) var name: String?

    @Option(
        name: .customLong("id"),
        help: ArgumentHelp("The id of a key of any program, as `ostiary key list --all` shows it.", valueName: "id"),
        transform: RightRemove.checkedID)
    var keyID: Data?

    @OptionGroup var force: ForceFlag
    @OptionGroup var reason: ReasonOption
    @OptionGroup var json: JSONFlag

    func validate() throws {
        guard (name == nil) != (keyID == nil) else {
            throw ValidationError("Say which key: either its label or --id.")
        }
    }

    func run() throws {
        if let keyID {
            let name = keyID.hexadecimal
            try OstiaryClient.shared.removeKeyOfAnyProgram(
                id: keyID, interaction: reason.interaction(otherwise: "destroy the key \(name)"))
            try json.announce("Removed the key with the id \(name).", ["removed": name])
        } else if let name {
            let item = try KeyArgument.findItem(name)
            try Consent.require("This destroys the key \(name.quotedName); data encrypted to it is lost.", force)
            try OstiaryClient.shared.deleteItems(
                ItemSelection(itemClass: KeyItems.itemClass, synchronizable: .any, id: item.id))
            try json.announce("Removed \(name.visibleName).", ["removed": name])
        }
    }
}
