import ArgumentParser

/// `--output FILE`.
struct OutputOption: ParsableArguments {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("Write to this file, - for standard output (default).", valueName: "file"),
        completion: .file())
    var output: String?

    func validate() throws {
        guard output != "" else { throw ValidationError("--output takes the name of a file.") }
    }

    var file: OutputFile { OutputFile(output) }
}
