import ArgumentParser
import Foundation
import OstiaryClient
import OstiaryMessages

struct PasskeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passkey",
        abstract: "Show and remove the passkeys of this machine.",
        discussion: """
            A passkey is a key of the enclave with which you sign in to one account of a website or service. Programs make \
            passkeys; each use asks for your finger or passcode.

            Examples:
              ostiary passkey list
              ostiary passkey remove 000102030405060708090a0b0c0d0e0f
            """,
        subcommands: [PasskeyList.self, PasskeyShow.self, PasskeyRemove.self, PasskeyServe.self])
}

struct PasskeyServe: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Show this machine as a security key, so that browsers use its passkeys.",
        discussion: """
            While this runs, every program that may open the new HID device can ask you a question; browsers, libfido2 and \
            OpenSSH do. Each question shows the relying party that the program named. Ctrl-C ends it.

            First register the program that does the work, once, and again with `ostiary app adopt` after an upgrade if \
            you own the file:
              cd /usr/libexec/ostiary          # after script/install: /usr/local/libexec/ostiary
              ostiary app register ostiary-hid --id org.ostiary.hid --browser

            You need the right to use /dev/uhid: packaging/README.md tells how to give it.
            """)

    @OptionGroup var json: JSONErrorsFlag

    func run() throws {
        try NeighbourProgram.become("ostiary-hid", json.isGiven ? ["--json"] : [])
    }
}

struct PasskeyList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the passkeys of this machine, the newest first.",
        discussion: """
            Example:
              ostiary passkey list
            """)

    @OptionGroup var json: JSONFlag

    func run() throws {
        let document = PasskeyListDocument(try OstiaryClient.shared.passkeys())
        if json.isGiven { return try JSONOutput.print(document) }
        guard !document.passkeys.isEmpty else { return StandardError.line("There are no passkeys.") }
        try StandardOutput.line(document.text())
    }
}

struct PasskeyShow: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show one passkey.",
        discussion: """
            Example:
              ostiary passkey show 000102030405060708090a0b0c0d0e0f
            """)

    @Argument(help: "The id of the passkey, as the list shows it.", transform: RightRemove.checkedID) var id: Data

    @OptionGroup var json: JSONFlag

    func run() throws {
        guard let passkey = try OstiaryClient.shared.passkeys().first(where: { $0.id == id }) else {
            throw OstiaryError(.init(.notFound), "There is no such passkey.")
        }
        let document = PasskeyDocument(passkey)
        if json.isGiven { return try JSONOutput.print(document) }
        try StandardOutput.line(document.text())
    }
}

struct PasskeyRemove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Destroy a passkey for good; you can no longer sign in with it.",
        discussion: """
            This asks you for the passcode. The account at the website or service stays: remove the passkey there, too.

            Example:
              ostiary passkey remove 000102030405060708090a0b0c0d0e0f
            """)

    @Argument(help: "The id of the passkey, as the list shows it.", transform: RightRemove.checkedID) var id: Data

    @OptionGroup var reason: ReasonOption
    @OptionGroup var json: JSONFlag

    func run() throws {
        try OstiaryClient.shared.removePasskey(
            id: id, interaction: reason.interaction(otherwise: "destroy the passkey \(id.hexadecimal)"))
        try json.announce("Removed the passkey \(id.hexadecimal).", ["removed": id.hexadecimal])
    }
}
