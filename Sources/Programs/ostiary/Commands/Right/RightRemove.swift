import ArgumentParser
import Foundation
import OstiaryClient
import OstiaryMessages

struct RightRemove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Destroy a right with its key and secret.",
        discussion: """
            Asks on the terminal before it destroys anything. Scripts give --force; without it and without a terminal \
            nothing is removed.

            A row that does not verify has no name that could be trusted. Remove it by the id that `ostiary right \
            list` shows.

            Examples:
              ostiary right remove 2fa
              ostiary right remove --id 000102030405060708090a0b0c0d0e0f --force
            """)

    @Argument(
        help: "The name of the right.", completion: RightArgument.completion, transform: RightArgument.checkedName)
    var name: String?

    @Option(
        name: .customLong("id"),
        help: ArgumentHelp("The id instead of the name, as `ostiary right list` shows it.", valueName: "id"),
        transform: Self.checkedID)
    var rightID: Data?

    @OptionGroup var group: RightGroupOption
    @OptionGroup var force: ForceFlag
    @OptionGroup var json: JSONFlag

    func validate() throws {
        guard (name == nil) != (rightID == nil) else {
            throw ValidationError("Say which right: either its name or --id.")
        }
        guard rightID == nil || group.given == nil else {
            throw ValidationError("An id needs no group; leave --group out.")
        }
    }

    func run() throws {
        if let rightID {
            let id = rightID.hexadecimal
            try Consent.require("This destroys the right with the id \(id), its key and its secret.", force)
            try OstiaryClient.shared.removeRight(id: rightID)
            try json.announce("Removed the right with the id \(id), its key and its secret.", ["removed": id])
        } else if let name {
            try requireConsent(name)
            try OstiaryClient.shared.removeRight(name, accessGroup: group.given)
            try json.announce("Removed \(name.visibleName), its key and its secret.", ["removed": name])
        }
    }

    /// Nobody is asked about a right that is not there. A row that cannot be read is one.
    private func requireConsent(_ name: String) throws {
        guard !force.isGiven else { return }
        do { _ = try OstiaryClient.shared.right(name, accessGroup: group.given) } catch let error as OstiaryError
            where error.isFailure(.itemUnreadable)
        {}
        try Consent.require("This destroys the right \(name.quotedName), its key and its secret.", force)
    }

    /// 16 bytes, in the form of the lists for people or of those in JSON.
    static func checkedID(_ text: String) throws -> Data {
        guard let id = Data(hexadecimal: text) ?? Data(base64Encoded: text), id.count == 16 else {
            throw ValidationError("An id has 32 hexadecimal digits, or 24 characters in JSON.")
        }
        return id
    }
}
