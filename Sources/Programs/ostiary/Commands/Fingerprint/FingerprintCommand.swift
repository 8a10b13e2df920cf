import ArgumentParser

struct FingerprintCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fingerprint",
        abstract: "Enrol, list, delete and test your fingers.",
        discussion: """
            The fingers are those that fprintd knows. The system (polkit) decides whether you may change them; it may ask \
            for your login password. After a change, fingers can be used again when you have entered your passcode once.

            A finger is one of left-thumb, left-index-finger, left-middle-finger, left-ring-finger, left-little-finger, \
            and the same with right.

            Example:
              ostiary fingerprint enroll right-index-finger
            """,
        subcommands: [Enroll.self, List.self, Delete.self, Verify.self])

    struct Enroll: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Enrol a finger, with as many touches as the reader wants.",
            discussion: """
                Ctrl-C ends it; then nothing is enrolled.

                Example:
                  ostiary fingerprint enroll left-thumb
                """)

        @Argument(help: "The finger; right-index-finger without it.")
        var finger: String?

        @Flag(help: "Enrol the finger again if it is enrolled already.")
        var replace = false

        @OptionGroup var json: JSONFlag

        func run() throws { try FingerprintCommand.become("enroll", replace ? ["--replace"] : [], finger, json) }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List your enrolled fingers.",
            discussion: """
                Example:
                  ostiary fingerprint list
                """)

        @OptionGroup var json: JSONFlag

        func run() throws { try FingerprintCommand.become("list", [], nil, json) }
    }

    struct Delete: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete an enrolled finger, or all of them.",
            discussion: """
                Asks on the terminal before. Scripts give --force; without it and without a terminal nothing is deleted.

                Example:
                  ostiary fingerprint delete left-thumb
                """)

        @Argument(help: "The finger.")
        var finger: String?

        @Flag(help: "Delete all your fingers.")
        var all = false

        @OptionGroup var force: ForceFlag
        @OptionGroup var json: JSONFlag

        func validate() throws {
            guard (finger == nil) == all else { throw ValidationError("Name a finger, or give --all.") }
        }

        func run() throws {
            try Consent.require(
                "This deletes \(finger.map { "the finger \($0.quotedName)" } ?? "all your fingers").", force)
            try FingerprintCommand.become("delete", all ? ["--all"] : [], finger, json)
        }
    }

    struct Verify: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Test whether the reader recognises your finger; opens nothing.",
            discussion: """
                The exit status is 1 when the reader does not recognise the finger.

                Example:
                  ostiary fingerprint verify
                """)

        @Argument(help: "The finger to compare with; any of yours without it.")
        var finger: String?

        @OptionGroup var json: JSONFlag

        func run() throws { try FingerprintCommand.become("verify", [], finger, json) }
    }

    /// Becomes the program that uses the reader.
    private static func become(_ action: String, _ flags: [String], _ finger: String?, _ json: JSONFlag) throws {
        // A finger's name is never taken for an option.
        try NeighbourProgram.become(
            "ostiary-fingerprint",
            [action] + flags + (json.isGiven ? ["--json"] : []) + ["--"] + (finger.map { [$0] } ?? []))
    }
}
