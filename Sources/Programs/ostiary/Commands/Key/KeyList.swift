import ArgumentParser
import OstiaryClient

struct KeyList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the keys of the enclave that this command sees.",
        discussion: """
            Example:
              ostiary key list
            """)

    @OptionGroup var json: JSONFlag

    func run() throws {
        let document = try KeyListDocument(
            keys: KeyItems.matching([:]).map { KeyDocument(try $0.enclaveKey(), item: $0) })
        if json.isGiven { return try JSONOutput.print(document) }
        guard !document.keys.isEmpty else { return StandardError.line("There are no keys.") }
        try StandardOutput.line(document.text())
    }
}
