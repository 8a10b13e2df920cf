import ExactNames
import Foundation
import Glibc
package import Logging
import OstiaryMessages
import ProcessFacts
package import Refusals
import Synchronization
import UnixSocket
package import Vault

/// The registered programs: those of the owner, which lie authenticated in the store, and those of the administrator.
package final class ApplicationRegistry: Sendable {
    private struct Contents {
        /// Nil as long as the store's list cannot be read: then nobody can say which programs are registered.
        var stored: [Registration]?
        /// How many registrations the store's list names whose rows are missing or do not verify.
        var lostCount = 0
        var isFailureLogged = false
        /// Counts the changes, so that a connection notices when its caller's identity is out of date.
        var generation: UInt64 = 0
        /// Nothing else tells of changes of the administrator's registrations.
        var watch = SystemApplicationsWatch()
    }

    package let digests = ContentDigests()
    private let vault: Vault
    private let owner: VaultID
    private let system: SystemApplications
    private let shared: ProgramFolder?
    private let now: @Sendable () -> Duration
    private let log: Logger
    private let contents: Mutex<Contents>

    /// Rows that do not verify do not count. Their programs are not taken for unregistered ones, see
    /// ``CallerIdentity/Standing/lost``.
    ///
    /// - Parameters:
    ///   - folder: that of the administrator's registrations.
    ///   - shared: programs that share groups without being registered; nil for none.
    ///   - now: the time on a clock that nobody sets.
    package init(
        vault: Vault, owner: VaultID, folder: String, shared: ProgramFolder?, now: @escaping @Sendable () -> Duration,
        log: Logger
    ) {
        self.vault = vault
        self.owner = owner
        self.shared = shared
        self.now = now
        system = SystemApplications(folder: folder) { file, defect in
            log.warning("a registration does not count", metadata: ["file": "\(file)", "cause": "\(defect)"])
        }
        self.log = log
        contents = Mutex(Contents())
        reload()
    }

    /// Reads the owner's registrations again. As long as they cannot be read, each look at a caller tries it once more.
    package func reload() {
        let rows: [Stored<ObjectRecord>]
        do { rows = try vault.read { try $0.objects(owner: owner, kind: .application) } } catch {
            return noteFailure(error)
        }
        let stored = rows.compactMap { $0.record.flatMap(Registration.init) }
        let lostCount = rows.count - stored.count
        if lostCount > 0 {
            log.error(
                "registrations of programs are missing or do not verify; these programs are refused",
                metadata: ["count": "\(lostCount)"])
        }
        contents.withLock { contents in
            (contents.stored, contents.lostCount, contents.isFailureLogged) = (stored, lostCount, false)
            contents.generation += 1
        }
    }

    private func noteFailure(_ error: any Error) {
        let isNew = contents.withLock { contents in
            if contents.stored != nil { contents.generation += 1 }
            contents.stored = nil
            defer { contents.isFailureLogged = true }
            return !contents.isFailureLogged
        }
        guard isNew else { return }
        log.error(
            "the registered programs cannot be read; all but the administrator's are refused",
            metadata: ["cause": "\(error)"])
    }

    /// Another number after each change of a registration: of the owner's at once, of the administrator's within a second.
    package var generation: UInt64 {
        let time = now()
        return contents.withLock { contents in
            if contents.watch.seesChange(of: system, at: time) { contents.generation += 1 }
            return contents.generation
        }
    }

    /// Throws as long as the store's list cannot be read.
    package func requireRead() throws(Refusal) {
        if isUnread { throw Refusal.registrationsUnreadable }
    }

    /// Whether the list cannot be read now either, if it could not before.
    private var isUnread: Bool {
        if contents.withLock({ $0.stored == nil }) { reload() }
        return contents.withLock { $0.stored == nil }
    }

    /// How many registrations are lost: their rows are missing or do not verify.
    package var lostCount: Int { contents.withLock { $0.lostCount } }

    /// All registrations that can be read; where both know a program, the administrator's counts.
    package func all() -> [Registration] {
        let system = system.registrations()
        return system + stored.filter { stored in !system.contains { $0.clashes(with: stored) } }
    }

    // MARK: callers

    /// Who runs `program`; the file that is looked at is the one that the process executes.
    ///
    /// - Parameter group: the process's group.
    func identity(of program: CallerProgram, content: CallerContent, group: CallerGroup) -> CallerIdentity {
        let isUnread = isUnread
        guard program.application != CallerProgram.unknown,
            let registration = all().first(where: { $0.path == program.application })
        else {
            // It may be registered. Without its name, its rights and items would lie open to the next file at its path.
            return isUnread ? CallerIdentity(program, standing: .listUnreadable) : unregistered(program)
        }
        let standing = standing(of: registration, content: content, group: group)
        return standing == .asRegistered
            ? CallerIdentity(registration) : CallerIdentity(program, standing: standing)
    }

    private func standing(
        of registration: Registration, content: CallerContent, group: CallerGroup
    ) -> ProgramStanding {
        if let own = registration.ownGroup {
            return own.number(ofProgramAt: registration.path.text).map(group.isOwn) == true
                ? .asRegistered : .withoutGroup
        }
        return switch registration.identity {
        case .rootOwned: ProgramFile.isReplaceableByRootAlone(registration.path.text) ? .asRegistered : .changed
        case .content(let digest): compare(content, with: digest)
        }
    }

    private func unregistered(_ program: CallerProgram) -> CallerIdentity {
        do {
            guard try !hasLostRow(ofProgramAt: program.application) else {
                return CallerIdentity(program, standing: .lost)
            }
        } catch { return CallerIdentity(program, standing: .listUnreadable) }
        guard let shared, shared.contains(program) else { return CallerIdentity(program) }
        return CallerIdentity(program, sharing: shared.accessGroups)
    }

    /// Whether the store's list names a registration of the program, which no row that verifies stands for.
    private func hasLostRow(ofProgramAt path: ExactName) throws -> Bool {
        guard lostCount > 0 else { return false }
        return try vault.read { try !lostRows(ofProgramAt: path, in: $0).isEmpty }
    }

    private func lostRows(ofProgramAt path: ExactName, in reader: VaultReader) throws -> [VaultID] {
        try reader.objectIDs(owner: owner, kind: .application, group: path).filter { id in
            do { return try reader.object(id, owner: owner).flatMap(Registration.init) == nil } catch VaultError.corrupt
            {
                return true
            }
        }
    }

    /// Whether the row with this id is listed as a registration and does not verify. Only the owner's word clears it away, with
    /// a new registration of the program.
    package func isLostRow(_ id: VaultID) throws -> Bool {
        try vault.read { reader in
            guard try reader.objectIDs(owner: owner, kind: .application).contains(id) else { return false }
            do { return try reader.object(id, owner: owner) == nil } catch VaultError.corrupt { return true }
        }
    }

    /// Whether a process still executes the program of its identity.
    func standing(of identity: CallerIdentity, content: CallerContent) -> ProgramStanding {
        guard let digest = identity.content else { return .asRegistered }
        return compare(content, with: digest)
    }

    private func compare(_ content: CallerContent, with digest: Data) -> ProgramStanding {
        do throws(ProgramFileError) {
            return try content.digest(by: digests) == digest ? .asRegistered : .changed
        } catch { return ProgramStanding(error) }
    }

    /// Whether the file at the path is the registered one. Without a program there, it counts as changed.
    ///
    /// - Parameter offered: the file, where somebody passed it.
    package func standing(of registration: Registration, offered: OfferedProgram? = nil) -> ProgramStanding {
        if let group = registration.ownGroup, group.number(ofProgramAt: registration.path.text) == nil {
            return .withoutGroup
        }
        guard let file = try? ProgramFile(path: registration.path.text, offered: offered) else {
            return ProgramFile.isHidden(registration.path.text) ? .unreadable : .changed
        }
        do throws(ProgramFileError) {
            return try file.identity(digests) == registration.identity ? .asRegistered : .changed
        } catch { return ProgramStanding(error) }
    }

    // MARK: changing

    /// Stores a registration that clashes with no other one. Refuses before anybody is asked, and again when it is stored.
    package func requireFree(_ registration: Registration, besides former: Registration? = nil) throws(Refusal) {
        try requireRead()
        let others = all().filter { $0 != former }
        if let clash = others.lazy.compactMap({ registration.clash(with: $0) }).first {
            throw Refusal(.duplicate, "\(clash)", cause: "application.duplicate")
        }
        guard others.count < Registration.count else {
            throw Refusal(
                .tooMany, "\(Registration.count) programs are registered, and no more are allowed; remove one.",
                cause: "application.too-many")
        }
    }

    /// The same for registrations that are stored together: none of them may clash with another one either.
    package func requireFree(together registrations: [Registration]) throws(Refusal) {
        for (index, registration) in registrations.enumerated() {
            try requireFree(registration)
            if let clash = registrations[..<index].lazy.compactMap({ registration.clash(with: $0) }).first {
                throw Refusal(.duplicate, "\(clash)", cause: "application.duplicate")
            }
        }
        guard all().count + registrations.count <= Registration.count else { throw Self.tooMany }
    }

    private static let tooMany = Refusal(
        .tooMany, "\(Registration.count) programs may be registered, and these would be more; remove one.",
        cause: "application.too-many")

    /// Stores a registration, in place of `former` when that is given.
    package func store(_ registration: Registration, replacing former: Registration? = nil) throws {
        try requireFree(registration, besides: former)
        try vault.write("application.register", irrevocable: .atOnce) { writer in
            // The owner's word for the program takes the place of a row that somebody removed or changed.
            for lost in try lostRows(ofProgramAt: registration.path, in: writer) {
                try writer.removeObject(lost, owner: owner)
            }
            guard let former else { return try writer.insertObject(registration.record(owner: owner)) }
            guard let row = try row(of: former, in: writer) else { throw Self.notFound }
            try writer.updateObject(registration.record(owner: owner, replacing: row))
        }
        reload()
    }

    /// The registrations of the store's owner that can be read, without the administrator's.
    package var stored: [Registration] { contents.withLock { $0.stored ?? [] } }

    package func remove(_ registration: Registration) throws {
        try vault.write("application.remove", usingReserve: true, irrevocable: .atOnce) { writer in
            guard let row = try row(of: registration, in: writer) else { throw Self.notFound }
            try writer.removeObject(row.id, owner: owner)
        }
        contents.withLock { contents in
            contents.stored?.removeAll { $0 == registration }
            contents.generation += 1
        }
    }

    private func row(of registration: Registration, in reader: VaultReader) throws -> ObjectRecord? {
        // Rows of former versions have no group.
        try reader.object(
            identifier: registration.applicationID, group: registration.path, kind: .application, owner: owner)
            ?? reader.object(identifier: registration.applicationID, group: "", kind: .application, owner: owner)
    }

    package static let notFound = Refusal(.notFound, "There is no such registration.", cause: "application.not-found")
}
