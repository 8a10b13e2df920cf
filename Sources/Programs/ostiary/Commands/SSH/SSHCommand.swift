import ArgumentParser

struct SSHCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ssh",
        abstract: "Make and manage keys for ssh and git, which the agent ostiary-ssh-agent uses.",
        discussion: """
            `ostiary ssh setup` makes ssh find the agent.

            Examples:
              ostiary ssh create work --require biometry --host git.example.org
              ostiary ssh import ~/.ssh/id_ed25519
              ostiary ssh list
            """,
        subcommands: [SSHCreate.self, SSHImport.self, SSHList.self, SSHRemove.self, SSHSetup.self])
}
