import ArgumentParser
import OstiaryClient
import OstiaryWire

struct PasscodeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passcode",
        abstract: "Set, change or remove your passcode.",
        discussion: """
            The daemon's own prompt asks for the passcode; it never passes through this command.

            Example:
              ostiary passcode set
            """,
        subcommands: [Set.self, Change.self, Remove.self])

    struct Set: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set a passcode when none is set.",
            discussion: """
                Example:
                  ostiary passcode set
                """)

        func run() throws { try PasscodeCommand.carryOut(.set, reason: "set your passcode", "The passcode is set.") }
    }

    struct Change: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Replace the passcode by a new one; nothing is lost.",
            discussion: """
                Example:
                  ostiary passcode change
                """)

        func run() throws {
            try PasscodeCommand.carryOut(.change, reason: "change your passcode", "The passcode is changed.")
        }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove the passcode, and destroy everything that only it can open.",
            discussion: """
                The prompt says what will be destroyed, and asks you first.

                Example:
                  ostiary passcode remove
                """)

        func run() throws {
            try PasscodeCommand.carryOut(.remove, reason: "remove your passcode", "The passcode is removed.")
        }
    }

    private static func carryOut(_ action: WirePasscodeAction, reason: String, _ outcome: String) throws {
        try OstiaryClient.shared.passcode(action, interaction: Interaction(reason: reason))
        StandardError.line(outcome)
    }
}
