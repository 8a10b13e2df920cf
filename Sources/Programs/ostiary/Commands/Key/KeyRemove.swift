import ArgumentParser
import Foundation
import OstiaryClient

struct KeyRemove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Destroy a key of the enclave; data that was encrypted to it is lost.",
        discussion: """
            With --id this destroys a key of any program, and the keychain items that stand for it. It asks you for \
            the passcode, or for a confirmation if no passcode is set. `ostiary key list --all` shows the ids.

            Examples:
              ostiary key remove release
              ostiary key remove --id 000102030405060708090a0b0c0d0e0f
            """)

    @Argument(help: "The label of the key, or its id.", transform: KeyArgument.checkedLabel) var name: String?

    @Option(
        name: .customLong("id"),
        help: ArgumentHelp("The id of a key of any program, 32 hexadecimal digits.", valueName: "id"),
        transform: RightRemove.checkedID)
    var keyID: Data?

    func validate() throws {
        guard (name == nil) != (keyID == nil) else {
            throw ValidationError("Say which key: either its label or --id.")
        }
    }

    func run() throws {
        if let keyID {
            let name = keyID.hexadecimal
            try OstiaryClient.shared.removeKeyOfAnyProgram(
                id: keyID, interaction: Interaction(reason: "destroy the key \(name)"))
            StandardError.line("Removed the key with the id \(name).")
        } else if let name {
            let item = try KeyArgument.findItem(name)
            try OstiaryClient.shared.deleteItems(
                ItemSelection(itemClass: KeyItems.itemClass, synchronizable: .any, id: item.id))
            StandardError.line("Removed \(name).".visibleLine)
        }
    }
}
