import Foundation
import Glibc
import OstiaryClient
import UnixSocket

/// The rows of the Secret Service: `ostiary-secrets` beside its parts and beside Debian's gnome-keyring.
struct KeyringStage {
    let plan: Plan
    let programs: DoorPrograms
    /// Of this process. The daemons ask there.
    let terminal: PseudoTerminal
    /// On the disk, for this user alone.
    let folder: String

    /// - Parameter client: of a daemon with a store on the same disk, in which no `ostiary-secrets` hears of items.
    func run(beside client: OstiaryClient) async throws -> Figures {
        var figures = try await measureItems(beside: client)
        figures.merge(try await measureSearches()) { $1 }
        return figures
    }

    // MARK: getting and making

    /// Items that are there before the rows begin. In the middle of those that make items there are `keyringItems`.
    private var itemCount: Int { max(plan.keyringItems - plan.ofSlowRows.callsOfRow / 2, 1) }

    private func measureItems(beside client: OstiaryClient) async throws -> Figures {
        let keyring = try OstiaryKeyring(in: folder + "/keyring", programs, itemCount: itemCount)
        let echo = try ChildProcess(
            FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"), ["bus-echo", keyring.bus.address])
        let gnome = try gnomeKeyring()
        let (floor, own) = (try BusKeyring(keyring.bus, name: BusEcho.name), try BusKeyring(keyring.bus))
        let other = try BusKeyring(gnome.bus)
        let item = try FreeItem.add(0, by: client)
        try FreeItem.add(1..<itemCount, by: client)
        for number in 0..<itemCount { try other.create(number) }

        let (ownPath, otherPath) = (try own.search(0), try other.search(0))
        var figures = try await Blocks(plan: plan).measure([
            Row(.busEcho) { try floor.get(BusEcho.item) }, Row(.findFreeItem) { try item.find() },
            Row(.getSecret) { try own.get(ownPath) }, Row(.keyringGet) { try other.get(otherPath) },
        ])
        var number = itemCount
        func next() -> Int {
            number += 1
            return number
        }
        figures.merge(
            try await Blocks(plan: plan.ofSlowRows).measure([
                Row(.busEchoCreate) { try floor.create(next()) },
                Row(.addFreeItem) { try FreeItem.add(next(), by: client) },
                Row(.createItem) { try own.create(next()) }, Row(.keyringCreate) { try other.create(next()) },
            ])
        ) { $1 }
        figures[.dismissedQuestionEnd] = try measureDismissals(own)
        try keyring.stop()
        withExtendedLifetime((echo, gnome)) {}
        return figures
    }

    private func gnomeKeyring() throws -> GnomeKeyring {
        let place = folder + "/gnome"
        guard mkdir(place, 0o700) == 0 else { throw SystemCallError("mkdir", subject: place) }
        return try GnomeKeyring(in: place)
    }

    /// From the call of Dismiss.
    private func measureDismissals(_ keyring: BusKeyring) throws -> Figure {
        try keyring.lock()
        return try QuestionEnds(terminal: terminal, count: plan.sheets)
            .measure(asking: keyring.ask) { _ in try keyring.dismiss() }
    }

    // MARK: searching

    /// In stores in memory, so that many items are soon there. Searching reads no disk.
    private func measureSearches() async throws -> Figures {
        let memory = try TemporaryFolder(below: "/dev/shm")
        let few = try OstiaryKeyring(in: memory.path + "/few", programs, itemCount: plan.fewItems)
        let many = try OstiaryKeyring(in: memory.path + "/many", programs, itemCount: plan.manyItems)
        let (ofFew, ofMany) = (try BusKeyring(few.bus), try BusKeyring(many.bus))
        let figures = try await Blocks(plan: plan).measure([
            Row(.searchFew) { _ = try ofFew.search(0) }, Row(.searchMany) { _ = try ofMany.search(0) },
        ])
        for keyring in [few, many] { try keyring.stop() }
        return figures
    }
}
