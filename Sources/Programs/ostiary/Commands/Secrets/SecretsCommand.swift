import ArgumentParser

struct SecretsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secrets",
        abstract: "Keep the passwords of desktop programs in place of gnome-keyring or KWallet.",
        discussion: """
            Browsers, mail programs, secret-tool and others keep passwords with the service org.freedesktop.secrets of the \
            session's bus. Ostiary's service keeps them in your store, where an item can have a rule and be for certain \
            programs.

            Examples:
              ostiary secrets enable
              ostiary secrets import
              ostiary secrets rule service=bank --require passcode
            """,
        subcommands: [
            SecretsEnable.self, SecretsDisable.self, SecretsStatus.self, SecretsImport.self, SecretsRule.self,
            SecretsList.self,
        ])

    /// Becomes the program that serves the bus: this one needs no library for it.
    static func become(_ action: String, _ options: [String], _ json: JSONFlag, operands: [String] = []) throws {
        // An attribute is never taken for an option.
        try NeighbourProgram.become(
            "ostiary-secrets",
            [action] + options + (json.isGiven ? ["--json"] : []) + (operands.isEmpty ? [] : ["--"] + operands))
    }

    /// An option with a value, in one word: the value may begin with a hyphen.
    static func option(_ name: String, _ value: String?) -> [String] { value.map { ["--\(name)=\($0)"] } ?? [] }
}

struct SecretsEnable: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable",
        abstract: "Have the bus start Ostiary's service when a program asks for a password.",
        discussion: """
            It writes ~/.local/share/dbus-1/services/org.freedesktop.secrets.service, which comes before the machine's file of \
            that name, and ~/.config/autostart/gnome-keyring-secrets.desktop, which keeps gnome-keyring from starting at a \
            login. A file that is there already is kept beside it. Nothing that runs is ended: the program that has the name \
            now is named, with what to do about it.

            Examples:
              ostiary secrets enable
              ostiary secrets enable --portal
            """)

    @Flag(help: "Also have the bus start it for the portal, which asks for secrets of applications in sandboxes.")
    var portal = false
    @OptionGroup var json: JSONFlag

    func run() throws { try SecretsCommand.become("enable", portal ? ["--portal"] : [], json) }
}

struct SecretsDisable: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Give back what `ostiary secrets enable` displaced.",
        discussion: """
            The files are again what they were before, and the bus starts the machine's keyring. What is stored stays in your \
            store.

            Example:
              ostiary secrets disable
            """)

    @OptionGroup var json: JSONFlag

    func run() throws { try SecretsCommand.become("disable", [], json) }
}

struct SecretsStatus: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show who keeps the passwords of this session, and how many items are stored.",
        discussion: """
            Examples:
              ostiary secrets status
              ostiary secrets status --json
            """)

    @OptionGroup var json: JSONFlag

    func run() throws { try SecretsCommand.become("status", [], json) }
}

struct SecretsImport: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Bring what gnome-keyring, KWallet or KeePassXC holds.",
        discussion: """
            It asks the keyring that has the name org.freedesktop.secrets, which asks you itself where something is locked. \
            Nothing changes there. An import that was interrupted is begun again: what is here already is passed over. What \
            could not be brought is named at the end, and the exit status is 1 then.

            Where Ostiary's service has the name already, start the other keyring on a bus of its own:
              dbus-run-session -- sh -c 'gnome-keyring-daemon --daemonize --components=secrets \\
                --control-directory="$(mktemp -d)" && ostiary secrets import'

            Examples:
              ostiary secrets import
              ostiary secrets import --from-bus unix:path=/tmp/other/bus
            """)

    @Option(
        help: ArgumentHelp(
            "The name of the other keyring on the bus (default: org.freedesktop.secrets).", valueName: "name"))
    var from: String?

    @Option(
        help: ArgumentHelp("The bus of the other keyring, if it is not the session's.", valueName: "address"))
    var fromBus: String?

    @OptionGroup var reason: ReasonOption
    @OptionGroup var json: JSONFlag

    func run() throws {
        try SecretsCommand.become(
            "import",
            SecretsCommand.option("from", from) + SecretsCommand.option("from-bus", fromBus)
                + SecretsCommand.option("reason", reason.reason), json)
    }
}

struct SecretsRule: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rule",
        abstract: "Set the rule for reading items of the keyring, and the programs that they are for.",
        discussion: """
            The items that have all of the given attributes get the rule, in one step. How many there are is said before \
            anybody is asked; their present rules are asked for. A program that reads such a secret waits for your answer. \
            Without --only and --any-program an item stays for the programs that it is for. With --require none every program \
            reads the items without a question.

            With --default the rule is for items that programs make from now on, in the named collection or in all that there \
            are.

            Examples:
              ostiary secrets rule service=bank --require "biometry or passcode"
              ostiary secrets rule user=me --require passcode --only /usr/bin/seahorse
              ostiary secrets rule --default --require passcode
              ostiary secrets rule service=bank --require none
            """)

    @Argument(help: "An attribute that the items have, as NAME=VALUE. `ostiary secrets list --json` shows attributes.")
    var attributes: [String] = []

    @Option(
        help: ArgumentHelp("The rule, or none.", valueName: "rule"), transform: SecretsRule.checkedRule)
    var require: String

    @Option(
        help: ArgumentHelp(
            "A program that the items are for, by its file or its application id; may be given several times.",
            valueName: "program"), completion: .file())
    var only: [String] = []

    @Flag(help: "Make the items readable by every program that satisfies the rule.") var anyProgram = false

    @Option(
        help: ArgumentHelp(
            "The collection: login, the label of another one, or its id; portal for applications in sandboxes.",
            valueName: "name"))
    var collection: String?

    @Flag(name: .customLong("default"), help: "Set the rule for new items.") var isDefault = false

    @OptionGroup var reason: ReasonOption
    @OptionGroup var json: JSONFlag

    func validate() throws {
        guard only.isEmpty || !anyProgram else { throw ValidationError("Give either --only or --any-program.") }
        guard only.isEmpty || !Self.asksForNothing(require) else {
            throw ValidationError("Only a rule that asks for something keeps items for certain programs.")
        }
        guard isDefault || collection != nil || !attributes.isEmpty else {
            throw ValidationError("Say which items are meant: NAME=VALUE, --collection, or --default for new ones.")
        }
        guard !isDefault || attributes.isEmpty else {
            throw ValidationError("--default is for new items; leave the attributes out.")
        }
    }

    func run() throws {
        var options = SecretsCommand.option("require", require) + SecretsCommand.option("collection", collection)
        options += only.flatMap { SecretsCommand.option("only", $0) } + SecretsCommand.option("reason", reason.reason)
        if anyProgram { options.append("--any-program") }
        if isDefault { options.append("--default") }
        try SecretsCommand.become("rule", options, json, operands: attributes)
    }

    private static let none = "none"

    private static func checkedRule(_ text: String) throws -> String {
        if text != none { _ = try RuleArgument(text) }
        return text
    }

    private static func asksForNothing(_ rule: String) -> Bool { [none, "unrestricted"].contains(rule) }
}

struct SecretsList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the items of the keyring, with their rules and programs; shows no secret.",
        discussion: """
            It asks nobody. While the store is locked it shows only how many items match.

            Examples:
              ostiary secrets list
              ostiary secrets list xdg:schema=org.gnome.Evolution.Data.Source
              ostiary secrets list --json
            """)

    @Argument(help: "An attribute that the items have, as NAME=VALUE.") var attributes: [String] = []
    @OptionGroup var json: JSONFlag

    func run() throws { try SecretsCommand.become("list", [], json, operands: attributes) }
}
