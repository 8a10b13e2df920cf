import ArgumentParser
import Foundation
import OstiaryClient
import OstiaryMessages

struct SecurityKeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "security-key",
        abstract: "Enrol, list and remove security keys, and set their PINs.",
        discussion: """
            A FIDO2 security key can open rights whose rule names `security-key`. Any of your enrolled keys will do: enrol \
            two, in case one is lost.

            Examples:
              ostiary security-key enroll blue
              ostiary right create vault --require "security-key or passcode"
            """,
        subcommands: [SecurityKeyEnroll.self, SecurityKeyList.self, SecurityKeyRemove.self, SecurityKeyPIN.self])
}

struct SecurityKeyEnroll: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enroll",
        abstract: "Enrol the security key that you touch.",
        discussion: """
            You are asked for the passcode. Then touch a key that is enrolled already, if there is one, and the new key \
            twice. A key with a PIN or a sensor for fingers asks for these; without, its proofs are `touch-only`.

            Example:
              ostiary security-key enroll blue
            """)

    @Argument(help: "Your name for the key, at most 64 bytes.") var name: String

    @OptionGroup var reason: ReasonOption
    @OptionGroup var json: JSONFlag

    func validate() throws {
        guard (1...64).contains(name.utf8.count) else {
            throw ValidationError("The name of a security key has 1 to 64 bytes.")
        }
    }

    func run() throws {
        // With --json standard error holds nothing but an error.
        if !json.isGiven {
            StandardError.line("Have the security key ready. The question says when to insert and to touch it.")
        }
        let key = try OstiaryClient.shared.enrollSecurityKey(
            name: name, interaction: reason.interaction(otherwise: "enrol the security key \(name)"))
        let document = SecurityKeyDocument(key)
        if json.isGiven { return try JSONOutput.print(document) }
        StandardError.line("Enrolled the security key \(name.visibleName). Its proofs are \(document.strength).")
        if try OstiaryClient.shared.securityKeys().count == 1 {
            StandardError.line("It is the only one. Enrol a second one, in case you lose it.")
        }
    }
}

struct SecurityKeyList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the enrolled security keys, the oldest first.",
        discussion: """
            Example:
              ostiary security-key list
            """)

    @OptionGroup var json: JSONFlag

    func run() throws {
        let document = SecurityKeyListDocument(try OstiaryClient.shared.securityKeys())
        if json.isGiven { return try JSONOutput.print(document) }
        guard !document.securityKeys.isEmpty else { return StandardError.line("No security key is enrolled.") }
        try StandardOutput.line(document.text())
    }
}

struct SecurityKeyRemove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a security key; it opens nothing any more.",
        discussion: """
            You are asked for the passcode, and not for the key: remove one that you have lost. After the last removal, \
            nobody can ever open the objects that only a security key opens.

            Example:
              ostiary security-key remove blue
            """)

    @Argument(help: "The name of the key.") var name: String?

    @Option(
        name: .customLong("id"),
        help: ArgumentHelp("The id instead of the name, as the list shows it.", valueName: "id"),
        transform: RightRemove.checkedID)
    var keyID: Data?

    @OptionGroup var reason: ReasonOption
    @OptionGroup var json: JSONFlag

    func validate() throws {
        guard (name == nil) != (keyID == nil) else {
            throw ValidationError("Say which security key: either its name or --id.")
        }
    }

    func run() throws {
        let key = try OstiaryClient.shared.securityKeys().first { $0.id == keyID || $0.name == name }
        guard let key else { throw OstiaryError(.init(.notFound), "There is no such security key.") }
        try OstiaryClient.shared.removeSecurityKey(
            id: key.id, interaction: reason.interaction(otherwise: "remove the security key \(key.name)"))
        try json.announce("Removed the security key \(key.name.visibleName).", ["removed": key.name])
    }
}

struct SecurityKeyPIN: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin",
        abstract: "Give a security key its first PIN, or replace its PIN.",
        discussion: """
            The PIN is the key's own, and counts wherever you use the key. The present PIN is asked for first. The key need not \
            be enrolled.

            Example:
              ostiary security-key pin
            """)

    @OptionGroup var reason: ReasonOption
    @OptionGroup var json: JSONFlag

    func run() throws {
        try OstiaryClient.shared.setSecurityKeyPIN(
            interaction: reason.interaction(otherwise: "set the PIN of a security key"))
        try json.announce("The security key has its new PIN.", ["pin": "set"])
    }
}
