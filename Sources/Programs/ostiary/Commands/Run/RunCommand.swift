import ArgumentParser
import CCommandLaunch
import OstiaryMessages
import UnixSocket

struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a command that gets secrets of items, for as long as it runs.",
        discussion: """
            You are asked once for all secrets, and the question names the command. Declined, it does not start. The secrets are no \
            arguments and lie on no disk.

            With --secret the variable NAME is the path of a pipe, such as /dev/fd/20. It is read once, in one go; nobody reads it a \
            second time. With --file NAME is the path of a file that the command and its children alone see, for programs that read \
            it several times or look for a file. It is wiped when the command ends. The kernel must permit a mount of an own; inside \
            it sudo does not work. With --environment NAME is the secret itself: every child inherits it, and your other programs can \
            read it. Use that only if the command knows no other way.

            An item is the service of a password, ACCOUNT@SERVICE, the id that `ostiary item list` shows, or attributes such as \
            server=example.com,account=me.

            Signals go to the command. The exit status is the command's, or 128 and the number of the signal that ended it.

            Examples:
              ostiary run --secret TOKEN=bot@ci -- sh -c 'deploy --token-file "$TOKEN"'
              ostiary run --file PGPASSFILE=pgpass -- psql shop
              ostiary run --environment API_KEY=service=api,account=me -- ./old-tool
            """)

    @Option(
        name: .customLong("secret"),
        help: ArgumentHelp(
            "A secret, whose variable becomes the path of a pipe; may be given several times.", valueName: "NAME=ITEM"))
    var secrets: [SecretAssignment] = []

    @Option(
        name: .customLong("file"),
        help: ArgumentHelp("The same with the path of a file that other programs do not see.", valueName: "NAME=ITEM"))
    var files: [SecretAssignment] = []

    @Option(
        name: .customLong("environment"),
        help: ArgumentHelp(
            "The same with the secret itself in the variable, which others can read.", valueName: "NAME=ITEM"))
    var environment: [SecretAssignment] = []

    @OptionGroup var json: JSONErrorsFlag

    @Argument(parsing: .postTerminator, help: ArgumentHelp("The command, behind --.", valueName: "command"))
    var command: [String] = []

    private var requested: [RequestedSecret] {
        secrets.map { RequestedSecret($0, .descriptor) } + environment.map { RequestedSecret($0, .environment) }
            + files.map { RequestedSecret($0, .file) }
    }

    func validate() throws {
        guard !command.isEmpty else { throw ValidationError("Name a command behind --.") }
        let names = (secrets + files + environment).map(\.name)
        guard !names.isEmpty else {
            throw ValidationError("Say which secrets the command gets, with --secret NAME=ITEM.")
        }
        guard Set(names).count == names.count else { throw ValidationError("Two secrets have the same name.") }
        guard names.count <= WireLimits.namedItemCount else {
            throw ValidationError("A command gets at most \(WireLimits.namedItemCount) secrets.")
        }
    }

    func run() throws {
        let path = try CommandPath.find(command[0])
        let requested = requested
        warn()
        guard ostiary_launch_hold_back_cores() == 0 else {
            throw CommandError.commandNotStarted(SystemCallError("setrlimit"))
        }
        try SecretReading(requested).read(
            reason: RunReason.text(path: path, arguments: Array(command.dropFirst()), names: requested.map(\.name)))
        throw CommandEnded(status: try start(path, requested))
    }

    private func warn() {
        guard !environment.isEmpty else { return }
        let names = environment.map(\.name).joined(separator: ", ")
        StandardError.line(
            "ostiary: Warning: \(names) will be in the environment, where the command's children and your other programs can read "
                + "the secret. Use --secret or --file if the command can read a file.")
    }

    private func start(_ path: String, _ requested: [RequestedSecret]) throws -> CInt {
        let launch = CommandLaunch(path, lastArguments: command.count)
        let mount = files.isEmpty ? nil : try PrivateMount()
        defer { mount?.remove() }
        let pipes = try prepare(launch, requested, mount)
        let signals = try NotedSignals()
        let started = try launch.start(handing: requested.filter { $0.delivery != .descriptor })
        // What is left of the secrets is in this process's memory. A failure only leaves it as open as it was.
        _ = ostiary_launch_forbid_cores()
        return RunningCommand(started, pipes, signals).waitForStatus()
    }

    private func prepare(
        _ launch: CommandLaunch, _ requested: [RequestedSecret], _ mount: PrivateMount?
    ) throws -> [SecretPipe] {
        var pipes: [SecretPipe] = []
        if let mount { launch.mount(at: mount.folder) }
        for secret in requested {
            switch secret.delivery {
            case .environment: launch.addVariable(secret)
            case .descriptor:
                let pipe = try SecretPipe(secret)
                launch.pass(pipe.number)
                launch.set(secret.name, to: pipe.path)
                pipes.append(pipe)
            case .file:
                guard let path = mount?.path(of: secret.name) else { continue }
                launch.addFile(secret, at: path)
                launch.set(secret.name, to: path)
            }
        }
        return pipes
    }
}
