import ArgumentParser
import OstiaryClient

struct KeyList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the keys of the enclave that this command sees, or all of yours.",
        discussion: """
            With --all the list shows the access group of each key, and whether a keychain item stands for the key. \
            Only programs of that access group see the key's label and tag.

            Examples:
              ostiary key list
              ostiary key list 'release*'
              ostiary key list --all
            """)

    @Flag(help: "Also list the keys of other programs, and keys without an item.")
    var all = false

    @Argument(help: "Only keys with this label; * stands for any text.") var label: TextPattern?

    @OptionGroup var json: JSONFlag

    func validate() throws {
        guard !all || label == nil else {
            throw ValidationError("--all shows keys without their labels; leave the label out.")
        }
    }

    func run() throws {
        if all { return try listAll() }
        let document = try KeyListDocument(
            keys: KeyItems.matching([:]).map { KeyDocument(try $0.enclaveKey(), item: $0) }.filter {
                label?.matches($0.label) ?? true
            })
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
