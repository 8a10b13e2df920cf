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
    /// - Parameter inputs: the files that the command reads. A place that leads to one of them is wrong usage, also with `--force`.
    /// - Throws: why it cannot be written to; `cancelled` or `consentNeeded` if an older file may not be overwritten.
    func usable(for content: OutputFile.Content, apartFrom inputs: [InputFile] = []) throws -> OutputFile {
        try Self.usable([OutputFile(output)], for: content, force, apartFrom: inputs)[0]
    }

    /// The same for several files, with one question about all that are overwritten.
    static func usable(
        _ files: [OutputFile], for content: OutputFile.Content, _ force: ForceFlag, apartFrom inputs: [InputFile]
    ) throws -> [OutputFile] {
        for file in files { try file.requireUsable(for: content) }
        try requireApart(files, from: inputs)
        let older = files.compactMap(\.olderFile).map(\.quotedName)
        guard !older.isEmpty else { return files }
        let loss =
            older.count == 1
            ? "\(older[0]) exists already and is overwritten."
            : "\(older.joined(separator: ", ")) exist already and are overwritten."
        try Consent.require(loss, force)
        return files.map(\.replacing)
    }

    /// Refuses a place that leads to an input, under whatever name, and two places that lead to one file.
    private static func requireApart(_ files: [OutputFile], from inputs: [InputFile]) throws(CommandError) {
        var taken = Set(inputs.compactMap(\.identity))
        for path in files.compactMap(\.path) {
            guard let identity = FileIdentity(path: path) else { continue }
            guard taken.insert(identity).inserted else {
                throw .usage(
                    "\(path.quotedName) is an input, or another output; it would be destroyed. Nothing was done.")
            }
        }
    }
}
