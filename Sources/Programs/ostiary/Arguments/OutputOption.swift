import ArgumentParser

/// `--output FILE` and `--force`.
struct OutputOption: ParsableArguments {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Write to this file, - for standard output (default). Asks before it overwrites one.", valueName: "file"),
        completion: .file())
    var output: String?

    @OptionGroup var force: ForceFlag

    func validate() throws {
        guard output != "" else { throw ValidationError("--output takes the name of a file.") }
    }

    /// The place that the option names, checked before anybody is asked for a factor.
    ///
    /// - Throws: why it cannot be written to; `cancelled` or `consentNeeded` if an older file may not be overwritten.
    func usable(for content: OutputFile.Content) throws -> OutputFile {
        try Self.usable([OutputFile(output)], for: content, force)[0]
    }

    /// The same for several files, with one question about all that are overwritten.
    static func usable(
        _ files: [OutputFile], for content: OutputFile.Content, _ force: ForceFlag
    ) throws -> [OutputFile] {
        for file in files { try file.requireUsable(for: content) }
        let older = files.compactMap(\.olderFile).map(\.quotedName)
        guard !older.isEmpty else { return files }
        let loss =
            older.count == 1
            ? "\(older[0]) exists already and is overwritten."
            : "\(older.joined(separator: ", ")) exist already and are overwritten."
        try Consent.require(loss, force)
        return files.map(\.replacing)
    }
}
