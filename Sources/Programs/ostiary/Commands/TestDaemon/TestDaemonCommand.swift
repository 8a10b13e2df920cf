import ArgumentParser
import OstiaryClient
import SecretMemory
import UnixSocket

struct TestDaemonCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test-daemon",
        abstract: "Run a command, for example tests, with a daemon and a store of its own.",
        discussion: """
            The daemon answers its own questions: with the passcode of the file, with yes to a confirmation. All other \
            questions are cancelled. With a passcode the store is unlocked when the command begins. The command finds \
            the daemon through XDG_RUNTIME_DIR and XDG_STATE_HOME. Afterwards daemon and store are gone, and the exit \
            status is the command's.

            With --group, all programs below a folder get these access groups: below --programs, or else below the \
            folder of the command. They may be built while the command runs. Scripts have no groups.

            It refuses (status 3) if there is a store or a running daemon where programs with this environment look. If \
            these are your own, set XDG_STATE_HOME and XDG_RUNTIME_DIR to empty folders. It refuses in system mode too.

            Examples:
              ostiary test-daemon --passcode-file passcode -- ./run-tests
              ostiary test-daemon --group org.example --programs .build -- swift test
            """)

    @Option(
        name: .customLong("group"),
        help: ArgumentHelp("An access group of the programs; may be given several times.", valueName: "group"))
    var groups: [String] = []

    @Option(
        help: ArgumentHelp(
            "The groups are for the programs below this folder, not below the command's.", valueName: "folder"),
        completion: .directory)
    var programs: String?

    @Option(
        help: ArgumentHelp(
            "Set the passcode in this file, and answer with it; - for standard input. The last line end does not count.",
            valueName: "file"))
    var passcodeFile: InputFile?

    @OptionGroup var json: JSONErrorsFlag

    @Argument(parsing: .postTerminator, help: ArgumentHelp("The command, behind --.", valueName: "command"))
    var command: [String] = []

    /// More bytes do not fit into the daemon's question.
    private static let passcodeByteCount = 256

    func validate() throws {
        guard !command.isEmpty else { throw ValidationError("Name a command behind --.") }
        guard programs == nil || !groups.isEmpty else {
            throw ValidationError("--programs is for --group: without a group there is nothing to share.")
        }
    }

    func run() throws {
        try OwnStore.requireAbsent()
        let path = try CommandPath.find(command[0])
        let programs = try groups.isEmpty ? nil : TestPrograms(below: folder(), sharing: groups)
        let passcode = try readPasscode()
        let test = TestCommand()
        let folder = try TestFolder()
        defer { folder.remove() }
        try folder.fill(passcode)
        let daemon = try TestDaemon(in: folder, sharing: programs)
        defer { daemon.end() }
        if passcode != nil { try daemon.setPasscode() }
        throw CommandEnded(status: try test.run(path, command, environment: folder.environment))
    }

    private func folder() throws -> String {
        if let programs { return programs }
        guard command[0].contains("/") else {
            throw CommandError.usage(
                "\(command[0]) is found in PATH, and its folder holds more than your programs. Name theirs with "
                    + "--programs.")
        }
        return PathName.folder(of: command[0])
    }

    private func readPasscode() throws -> SecretBytes? {
        guard let passcodeFile else { return nil }
        let content = try passcodeFile.secretBytes(limit: Self.passcodeByteCount)
        let lineEnd = unsafe content.withUnsafeBytes { bytes in
            guard unsafe bytes.last == UInt8(ascii: "\n") else { return 0 }
            return unsafe bytes.dropLast().last == UInt8(ascii: "\r") ? 2 : 1
        }
        let count = content.count - lineEnd
        guard count > 0 else { throw CommandError.emptySecret(name: passcodeFile.name) }
        return content.prefix(count)
    }
}
