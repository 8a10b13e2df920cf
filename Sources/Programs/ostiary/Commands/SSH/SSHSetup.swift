import ArgumentParser

struct SSHSetup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "Make ssh and git find the agent.",
        discussion: """
            It enables the agent's systemd socket for you, so that the agent starts at its first use, and sets SSH_AUTH_SOCK in \
            ~/.config/environment.d. That file reaches what your user manager starts, as GNOME and KDE do under Wayland. With \
            --profile it sets SSH_AUTH_SOCK in ~/.profile, too, for logins on a console, over ssh and under X11. With \
            --ssh-config ssh alone finds the agent, in each session. It says what it did and which agent it displaces, and \
            --undo takes back all of it.

            Examples:
              ostiary ssh setup
              ostiary ssh setup --profile --ssh-config
              ostiary ssh setup --upstream /run/user/1000/gcr/ssh
              ostiary ssh setup --undo
            """)

    @Flag(help: "Also name the agent in ~/.ssh/config (IdentityAgent).") var sshConfig = false
    @Flag(help: "Also set SSH_AUTH_SOCK in ~/.profile, except where ssh forwards an agent.") var profile = false
    @Option(
        help: ArgumentHelp("Have the agent show the keys of the agent at this socket, too.", valueName: "socket"),
        completion: .file())
    var upstream: String?
    @Flag(help: "Take back what a former setup did.") var undo = false
    @OptionGroup var json: JSONFlag

    func validate() throws {
        guard !undo || !(sshConfig || profile || upstream != nil) else {
            throw ValidationError("--undo takes back all; leave the other options out.")
        }
    }

    func run() throws {
        let setup = AgentSetup(
            home: try AgentSetup.homeFolder(), socket: try ConfiguredPath(ConfiguredPath.ownSocket()))
        let steps =
            undo
            ? try setup.undo()
            : try setup.apply(
                sshConfig: sshConfig, profile: profile, upstream: try upstream.map { try ConfiguredPath($0) })
        if json.isGiven { return try JSONOutput.print(["steps": steps]) }
        for step in steps { StandardError.line(step.visibleLine) }
    }
}
