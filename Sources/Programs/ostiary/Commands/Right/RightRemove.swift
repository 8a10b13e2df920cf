import ArgumentParser
import Foundation
import OstiaryClient

struct RightRemove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Destroy a right with its key and secret.",
        discussion: """
            A row that does not verify has no name that could be trusted. Remove it by the id that `ostiary right \
            list` shows.

            Examples:
              ostiary right remove 2fa
              ostiary right remove --id 000102030405060708090a0b0c0d0e0f
            """)

    @Argument(
        help: "The name of the right.", completion: RightArgument.completion, transform: RightArgument.checkedName)
    var name: String?

    @Option(
        name: .customLong("id"),
        help: ArgumentHelp("The id instead of the name, 32 hexadecimal digits.", valueName: "id"),
        transform: Self.checkedID)
    var rightID: Data?

    func validate() throws {
        guard (name == nil) != (rightID == nil) else {
            throw ValidationError("Say which right: either its name or --id.")
        }
    }

    func run() throws {
        if let rightID {
            try OstiaryClient.shared.removeRight(id: rightID)
            StandardError.line("Removed the right with the id \(rightID.hexadecimal), its key and its secret.")
        } else if let name {
            try OstiaryClient.shared.removeRight(name)
            StandardError.line("Removed \(name), its key and its secret.".visibleLine)
        }
    }

    static func checkedID(_ text: String) throws -> Data {
        guard let id = Data(hexadecimal: text), id.count == 16 else {
            throw ValidationError("An id has 32 hexadecimal digits.")
        }
        return id
    }
}
