import ArgumentParser
import OstiaryClient
import OstiaryMessages

struct LockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "End every authorization and wipe the keys that need an unlocked store.",
        discussion: """
            Example:
              ostiary lock
            """)

    @OptionGroup var json: JSONFlag

    func run() throws {
        try OstiaryClient.shared.lock()
        try json.announce("Locked.", ["locked": true])
    }
}

struct UnlockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Open the store with your passcode, so that programs can read items that need an unlocked store.",
        discussion: """
            The daemon's own prompt asks for the passcode. The store then stays open until it is locked or the daemon \
            ends. It also lets fingers be used again after wrong fingers or a change of the enrolled ones. If the store is \
            open and fingers do not wait for the passcode, or if no passcode is set, the command asks nothing.

            Example:
              ostiary unlock
            """)

    @OptionGroup var reason: ReasonOption
    @OptionGroup var json: JSONFlag

    func run() throws { try json.announce(unlock(), ["unlocked": true]) }

    /// Opens the store if it is locked; returns the notice for people.
    private func unlock() throws -> String {
        let status = try OstiaryClient.shared.status()
        guard status.passcode.isSet else { return "No passcode is set, so nothing is locked." }
        let waitsForPasscode = status.biometry?.waitsForPasscode == true
        guard !status.unlocked || waitsForPasscode else { return "The store is unlocked already." }
        let interaction = reason.interaction(otherwise: status.unlocked ? "use fingers again" : "unlock the store")
        // Not the policy "biometry or passcode": nothing but the passcode opens the store.
        try AuthorizationContext().authorize(.store, interaction: interaction)
        return "Unlocked."
    }
}
