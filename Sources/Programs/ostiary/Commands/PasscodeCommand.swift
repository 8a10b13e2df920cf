import ArgumentParser
import OstiaryClient
import OstiaryMessages

struct PasscodeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passcode",
        abstract: "Set, change or remove your passcode, or set your sign.",
        discussion: """
            The daemon's own prompt asks for the passcode; it never passes through this command.

            Example:
              ostiary passcode set
            """,
        subcommands: [Set.self, Change.self, Remove.self, FollowLogin.self, Sign.self])

    struct Set: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set a passcode when none is set.",
            discussion: """
                Example:
                  ostiary passcode set
                """)

        @OptionGroup var options: PasscodeOptions

        func run() throws { try options.carryOut(.set, "set your passcode", outcome: "set") }
    }

    struct Change: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Replace the passcode by a new one; nothing is lost.",
            discussion: """
                Example:
                  ostiary passcode change
                """)

        @OptionGroup var options: PasscodeOptions

        func run() throws { try options.carryOut(.change, "change your passcode", outcome: "changed") }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove the passcode, and destroy everything that only it can open.",
            discussion: """
                The prompt says what will be destroyed, and asks you first.

                Example:
                  ostiary passcode remove
                """)

        @OptionGroup var options: PasscodeOptions

        func run() throws { try options.carryOut(.remove, "remove your passcode", outcome: "removed") }
    }

    struct FollowLogin: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "follow-login",
            abstract: "Make your login password your passcode, so that a login opens the store.",
            discussion: """
                The prompt asks for your passcode, and twice for your login password, which becomes the passcode. From \
                then on a login opens your store, and the passcode follows when you change the login password with passwd. \
                When root sets your login password, the passcode stays as it was and follows no more. A login password \
                that is too weak for a passcode is refused.

                This works in system mode, where logins tell Ostiary of the password: with the package libpam-ostiary and \
                `sudo pam-auth-update --enable ostiary-store`.

                Without this command a login tries its password as your passcode once. If that was wrong, no login tries \
                again before you have entered the passcode. With --off no login tries.

                Example:
                  ostiary passcode follow-login
                """)

        @Flag(help: "Let no login try its password as your passcode.")
        var off = false

        @OptionGroup var options: PasscodeOptions

        func run() throws {
            if off {
                try options.carryOut(
                    .ignoreLogin, "keep logins from your passcode",
                    announcing: "The passcode has nothing to do with your login password.", ["passcode": "independent"])
            } else {
                try options.carryOut(
                    .followLogin, "make your login password your passcode",
                    announcing: "The passcode is your login password, and follows it.", ["passcode": "followingLogin"])
            }
        }
    }

    struct Sign: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set the words by which you know Ostiary's own console.",
            discussion: """
                In system mode Ostiary has a console of its own, the trusted place, and switches the screen to it: programs \
                of yours neither type nor draw there. A rule asks there if it ends with “at trusted place”. Your sign is \
                words that only you know. They stand on that console with each question and nowhere else, so a screen without \
                them is not Ostiary's. This command asks there for your passcode and for the sign.

                Example:
                  ostiary passcode sign
                """)

        @OptionGroup var options: PasscodeOptions

        func run() throws {
            try options.carryOut(.sign, "set your sign", announcing: "Your sign is set.", ["sign": "set"])
        }
    }
}

/// `--reason` and `--json` of the commands that change the passcode.
struct PasscodeOptions: ParsableArguments {
    @OptionGroup var reason: ReasonOption
    @OptionGroup var json: JSONFlag

    func carryOut(_ action: WirePasscodeAction, _ purpose: String, outcome: String) throws {
        try carryOut(action, purpose, announcing: "The passcode is \(outcome).", ["passcode": outcome])
    }

    func carryOut(
        _ action: WirePasscodeAction, _ purpose: String, announcing text: String, _ values: [String: String]
    ) throws {
        let interaction = reason.interaction(otherwise: purpose)
        try PasscodeProgress.showing(isEnabled: !json.isGiven && StandardError.isTerminal) {
            try OstiaryClient.shared.passcode(action, interaction: interaction)
        }
        try json.announce(text, values)
    }
}
