import ArgumentParser
import CommandFailures
import DoorSupport
import Foundation
import Glibc
import SSHAgent

/// `ostiary-ssh-agent`: an agent for OpenSSH whose keys Ostiary keeps.
package enum AgentProgram {
    /// The whole program. Returns when its work is done.
    package static func main() {
        DoorProgram.begin()
        Program.main(nil)
    }
}

struct Program: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ostiary-ssh-agent", abstract: "Keys for ssh and git that Ostiary keeps.",
        discussion: """
            Without options it serves the socket of its systemd unit, or $XDG_RUNTIME_DIR/ostiary/ssh-agent.sock. \
            `ostiary ssh setup` makes ssh find it. The options with one letter are those of ssh-agent, so that it can stand \
            in its place: with -s, -c, -a or a command it goes into the background and tells where it listens.

            Keys are made by `ostiary ssh create` and `ostiary ssh import`. Passkeys of this machine that `ssh-keygen -t ecdsa-sk` \
            made are listed, too. Keys that ssh-add adds, and files of security keys, stay in the memory of the agent and end with it.

            Examples:
              ostiary-ssh-agent
              ostiary-ssh-agent --upstream /run/user/1000/gcr/ssh
              eval `ostiary-ssh-agent -s`
              ostiary-ssh-agent ssh-add -l
            """)

    @Flag(name: .customShort("s"), help: "Go into the background; print commands for a Bourne shell.")
    var printsBourneShell = false
    @Flag(name: .customShort("c"), help: "Go into the background; print commands for a C shell.")
    var printsCShell = false
    @Flag(name: .customShort("k"), help: "End the agent whose process SSH_AGENT_PID names.") var ends = false
    @Flag(name: .customShort("D"), help: "Stay in the foreground.") var staysInForeground = false
    @Flag(name: .customShort("d"), help: "Stay in the foreground, and say on standard error what is refused.")
    var tells = false
    @Option(name: .customShort("a"), help: ArgumentHelp("Listen at this path.", valueName: "path"))
    var address: String?
    @Option(
        name: .customShort("t"),
        help: ArgumentHelp("Forget keys of ssh-add after this time, such as 1h30m.", valueName: "life"),
        transform: LifetimeArgument.seconds)
    var lifetime: UInt32?
    @Option(
        name: .customShort("P", allowingJoined: true),
        help: ArgumentHelp(
            "Ignored: this agent loads no libraries for keys. That of --upstream has a list of its own.",
            valueName: "list"))
    var providers: String?
    @Option(
        name: .customShort("E"), help: ArgumentHelp("Ignored: fingerprints are SHA-256.", valueName: "hash"))
    var fingerprintHash: String?

    @Option(
        help: ArgumentHelp("Show and use the keys of the agent at this socket, too.", valueName: "socket"),
        completion: .file())
    var upstream: String?
    @Flag(help: "Serve only keys of ssh-add and --upstream, and ask Ostiary nothing.") var noStore = false

    /// Files with names of hosts, in the place of the user's and the machine's, for tests. A name is this program's word anyway, and the question
    /// says that nobody checked it.
    @Option(name: .customLong("known-hosts"), help: .private) var knownHostsPaths: [String] = []

    /// What a process in the background serves: its descriptor 3, which is bound to this path.
    @Option(name: .customLong("serve-inherited"), help: .private) var inheritedPath: String?
    /// The folder that was made for the socket.
    @Option(name: .customLong("folder"), help: .private) var madeFolder: String?
    @Flag(name: .customLong("end-with-parent"), help: .private) var endsWithParent = false

    @Argument(
        parsing: .captureForPassthrough,
        help: ArgumentHelp("Run this command with the agent, which ends with it.", valueName: "command"))
    var command: [String] = []

    /// A command has whatever stands behind it, so the parser takes `--help` for one. No command begins with a hyphen.
    func validate() throws {
        guard let first = command.first, first.hasPrefix("-") else { return }
        guard first == "--help" || first == "-h" else { throw ValidationError("Unknown option '\(first)'.") }
        throw CleanExit.helpRequest(self)
    }

    func run() throws {
        do { try carryOut() } catch let failure as DoorFailure {
            throw ExitCode(DoorReport.failed(failure, program: DoorProgram.sshAgent.name).rawValue)
        }
    }

    private func carryOut() throws {
        guard !(printsBourneShell && printsCShell), !(tells && staysInForeground),
            command.isEmpty || !(printsBourneShell || printsCShell || ends || tells || staysInForeground)
        else {
            throw AgentFailure.usage(
                "These options do not go together. `ostiary-ssh-agent --help` shows how to use them.")
        }
        if ends { return try ShellLines(isCShell: isCShell).endAgent() }
        if let inheritedPath { return try serve(.inherited(path: inheritedPath, folder: madeFolder)) }
        guard command.isEmpty else { return try Background(self).run(command) }
        if tells || staysInForeground { return try serveInForeground() }
        guard printsBourneShell || printsCShell || address != nil else { return try serve(.ofDoor) }
        try Background(self).start(telling: ShellLines(isCShell: isCShell))
    }

    private var isCShell: Bool {
        if printsCShell || printsBourneShell { return printsCShell }
        return ProcessInfo.processInfo.environment["SHELL"]?.hasSuffix("csh") ?? false
    }

    /// A service manager's socket has no address. Otherwise the lines for the shell come first, as ssh-agent prints them.
    private func serveInForeground() throws {
        guard address != nil || ProcessInfo.processInfo.environment["LISTEN_FDS"] == nil else {
            return try serve(.ofDoor)
        }
        let place = try AgentPlace.listen(at: address)
        try ShellLines(isCShell: isCShell).tell(place.path, process: getpid())
        try serve(place)
    }

    private func serve(_ place: AgentPlace) throws {
        var options = AgentServer.Options()
        (options.usesStore, options.upstream) = (!noStore, upstream)
        let files = knownHostsPaths.isEmpty ? KnownHostsFiles.ofCurrentUser : KnownHostsFiles(knownHostsPaths)
        try AgentService(
            place, options, knownHosts: files, lifetime: lifetime.flatMap { $0 == 0 ? nil : $0 },
            isQuiet: inheritedPath != nil, endsWithParent: endsWithParent
        ).run()
    }
}

/// `-t LIFE`: the times of sshd_config(5), TIME FORMATS.
enum LifetimeArgument {
    private static let units: [Character: UInt64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]

    /// 0 stands for ever.
    static func seconds(_ text: String) throws -> UInt32 {
        var (sum, number): (UInt64, UInt64?) = (0, nil)
        for character in text {
            if let digit = character.wholeNumberValue, character.isASCII {
                number = (number ?? 0) * 10 + UInt64(digit)
            } else if let count = number, let unit = units[Character(character.lowercased())] {
                (sum, number) = (sum + count * unit, nil)
            } else {
                throw ValidationError("A lifetime is a number of seconds, or numbers with s, m, h, d or w.")
            }
            guard max(sum, number ?? 0) <= UInt64(Int32.max) else {
                throw ValidationError("A lifetime is at most \(Int32.max) seconds.")
            }
        }
        sum += number ?? 0
        guard sum <= UInt64(Int32.max), !text.isEmpty else { throw ValidationError("The lifetime cannot be used.") }
        return UInt32(sum)
    }
}
