import ArgumentParser
import Glibc
import OstiaryClient
import OstiaryMessages
import UnixSocket

struct MigrateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Move your own store into the store of this machine.",
        discussion: """
            For a machine in system mode, if you used Ostiary before with a daemon of your own: its store is in \
            ~/.local/state/ostiary. First the command shows which keys cannot come along: private keys never leave their \
            enclave, nor do the secrets of rights. Then it asks for your passcode, and copies keychain items, registered \
            programs and the passcode. The copy counts only when the machine's daemon has opened every object again; until \
            then both stores are as they were, and you can run the command again. At the end it asks whether your own store is \
            removed. If keys or items stay in it, it is kept unless you give --leave-keys. It is removed only while the machine's \
            daemon still has the copy; otherwise the copy is made again.

            Your own daemon must not run: end it with `systemctl --user stop ostiaryd` or `pkill -u $USER -x ostiaryd`.

            Example:
              ostiary migrate
            """)

    @Flag(help: "Remove your own store although keys or items stay in it; they are lost.")
    var leaveKeys = false

    @OptionGroup var reason: ReasonOption
    @OptionGroup var force: ForceFlag
    @OptionGroup var json: JSONErrorsFlag

    func run() throws {
        guard case .system = try DaemonLocation.ofCurrentUser() else {
            throw CommandError.userMode("Nothing was copied: your store stays your own.")
        }
        let former = FormerStore(try DaemonLocation.ownOfCurrentUser())
        try former.requireStore()
        let copy = try presentCopy(of: former) ?? copy(former)
        guard copy.left == 0 || leaveKeys else {
            return StandardError.line(
                "Your own store stays in \(former.folder.visibleName), because \(copy.left) keys and items did not come "
                    + "along. Make them again in the store of this machine. Then run `ostiary migrate --leave-keys` to "
                    + "remove it.")
        }
        let lost = copy.left > 0 ? ", with \(copy.left) keys and items that did not come along" : ""
        try Consent.require("This removes your own store in \(former.folder.quotedName) for good\(lost).", force)
        // While the question stood, a daemon of the user's own may have changed the store, or the administrator removed the copy.
        guard former.copied?.id == copy.id else { throw Self.changedMeanwhile }
        guard try Self.hasCopy(copy) else { throw Self.copyLost }
        try former.remove()
        StandardError.line("Removed your own store. The store of this machine has your objects.")
    }

    private static let changedMeanwhile = CommandError.notMigrated(
        "Your own daemon was started meanwhile, and the copy lacks what it changed. Nothing was removed.")

    private static let copyLost = CommandError.notMigrated(
        "The store of this machine no longer has the copy of your own store, so nothing was removed. Run the command again "
            + "to copy your store.")

    /// Asks on a connection of its own: the one that carried the copy belongs to the part of the store that the copy has replaced.
    private static func hasCopy(_ copy: FormerStore.Copy) throws -> Bool {
        try OstiaryClient(location: .ofCurrentUser()).hasCopy(copy.id)
    }

    /// The copy of an earlier run, if the machine's store still has it.
    private func presentCopy(of former: FormerStore) throws -> FormerStore.Copy? {
        guard let copy = former.copied else { return nil }
        guard try !Self.hasCopy(copy) else { return copy }
        guard !former.isBeingRemoved else { throw Self.copyLostDuringRemoval }
        StandardError.line("The store of this machine no longer has the copy that was made before. It is made again.")
        return nil
    }

    private static let copyLostDuringRemoval = CommandError.notMigrated(
        "The removal of your own store has begun, and the store of this machine no longer has its copy. Nothing more was "
            + "removed. Ask the administrator for a backup of one of both.")

    private func copy(_ former: FormerStore) throws -> FormerStore.Copy {
        let export = try StoreExport(of: former.location)
        do {
            let result = try copy(from: export)
            guard export.isComplete() else { throw Self.interrupted }
            let copy = FormerStore.Copy(id: result.outcome.copy, left: result.left)
            try former.note(copy)
            StandardError.line(
                "Copied \(result.outcome.items) items and \(result.outcome.registrations) registered programs.")
            if result.hasPasscode { StandardError.line(Self.advice) }
            return copy
        } catch {
            export.end()
            throw error
        }
    }

    /// The machine's daemon keeps the person's programs from the passcode. Until now they could read it.
    private static let advice =
        "Your passcode came along through programs of your own, which others of them can watch. Change it now: "
        + "`ostiary passcode change`."

    private static let interrupted = CommandError.notMigrated(
        "The copy was not finished, so it does not count. Your own store is as it was; run the command again.")

    private func copy(from export: StoreExport) throws -> (
        outcome: WireImportOutcome, left: UInt32, hasPasscode: Bool
    ) {
        guard let first = try export.nextPart() else { throw Self.interrupted }
        let counts = try TransferCounts(first.head)
        _ = try OstiaryClient.shared.importPart(
            first, interaction: reason.interaction(otherwise: "copy your own store into the store of this machine"))
        var progress = ProgressLine("Copying", total: Int(counts.items), unit: .entries)
        var done = 0
        while let part = try export.nextPart() {
            if let outcome = try OstiaryClient.shared.importPart(part, interaction: nil) {
                let left = counts.keys + (counts.items - min(counts.items, outcome.items))
                return (outcome, left, counts.hasPasscode)
            }
            done += 1
            progress.update(done)
        }
        throw Self.interrupted
    }
}

/// The counts of the first part: `Documentation/formats/migration.md`.
private struct TransferCounts {
    let hasPasscode: Bool
    let items: UInt32
    let keys: UInt32

    init(_ head: [UInt8]) throws {
        guard head.count >= 14, head[0] == 1 else {
            throw CommandError.notMigrated(
                "The daemon's program is of another version than this command. Upgrade Ostiary as a whole. Nothing was "
                    + "copied.")
        }
        func number(at place: Int) -> UInt32 { head[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) } }
        hasPasscode = head[1] == 1
        (items, keys) = (number(at: 2), min(number(at: 10), UInt32.max / 2))
    }
}
