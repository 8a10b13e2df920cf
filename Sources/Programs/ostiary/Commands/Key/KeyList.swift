import ArgumentParser
import OstiaryClient

struct KeyList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the keys of the enclave that this command sees, or all of yours.",
        discussion: """
            With --all the list says of each key whose it is, and whether a keychain item stands for it. Labels and tags are \
            for the programs of its access group alone.

            Examples:
              ostiary key list
              ostiary key list --all
            """)

    @Flag(help: "List the keys that other programs made, too, and those without an item.")
    var all = false

    @OptionGroup var json: JSONFlag

    func run() throws {
        if all { return try listAll() }
        let document = try KeyListDocument(
            keys: KeyItems.matching([:]).map { KeyDocument(try $0.enclaveKey(), item: $0) })
        if json.isGiven { return try JSONOutput.print(document) }
        guard !document.keys.isEmpty else { return StandardError.line("There are no keys.") }
        try StandardOutput.line(document.text())
    }

    private func listAll() throws {
        let document = AllKeysDocument(try OstiaryClient.shared.keysOfAllPrograms())
        if json.isGiven { return try JSONOutput.print(document) }
        guard !document.keys.isEmpty else { return StandardError.line("There are no keys.") }
        try StandardOutput.line(document.text())
    }
}
