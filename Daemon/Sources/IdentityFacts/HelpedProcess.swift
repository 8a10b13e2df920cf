import Glibc
import ProcessFacts
import Synchronization
import UnixSocket

/// A process at which a helper looks.
final class HelpedProcess: HeldProcess {
    private let folder: ProcessFolder
    /// Who answers for looks that wait too long, if the folder does not show whose it is.
    private let namedUserID: UInt32?
    private let helper: IdentityHelper
    private let mounts: MachineMounts
    private let known = Mutex(Known())
    var id: Int32 { folder.processID }

    /// The last look, and what came along with an earlier one.
    private struct Known: Sendable {
        var look: ProcessLook?
        /// When the last look began.
        var time: ContinuousClock.Instant?
        var maps, status, controlGroups: SharedDescriptor?
    }

    /// For how long a look counts, as long as the process's memory is the same.
    private let freshness: Duration

    init(
        _ folder: ProcessFolder, of namedUserID: UInt32?, _ helper: IdentityHelper, _ mounts: MachineMounts,
        freshness: Duration
    ) {
        (self.folder, self.namedUserID, self.helper) = (folder, namedUserID, helper)
        (self.mounts, self.freshness) = (mounts, freshness)
    }

    // MARK: looks

    /// - Parameter renewing: whether new descriptors are asked for. Whoever opens the maps of a process may have to wait for it, so that is
    ///   done once for each program that it executes.
    private func look(renewing: Bool) throws(FactFailure) -> ProcessLook {
        let begin = ContinuousClock.now
        let look = try helper.look(at: folder.handle, of: namedUserID, passing: renewing)
        known.withLock { known in
            (known.look, known.time) = (look, begin)
            guard renewing else { return }
            (known.maps, known.status, known.controlGroups) = (look.maps, look.status, look.controlGroups)
        }
        return look
    }

    /// For what a process keeps for life.
    private func anyLook() throws(FactFailure) -> ProcessLook {
        if let look = known.withLock({ $0.look }) { return look }
        return try look(renewing: true)
    }

    func executable() throws(FactFailure) -> ExecutedFile { try look(renewing: true).file }

    /// The memory that was the program's at an earlier look says whether the process has executed anything since. Only a process that shares
    /// this memory (`CLONE_VM`) can outlive it. So the memory alone counts for a second (``freshness``), and the process itself is looked at then.
    func executes(_ file: ExecutedFile, wholly: Bool) throws(FactFailure) -> Bool {
        let known = known.withLock { $0 }
        guard let maps = known.maps, let look = known.look, let time = known.time else {
            return try self.look(renewing: true).file == file
        }
        guard try Self.isMemoryUsed(maps) else { return try self.look(renewing: true).file == file }
        guard !wholly, look.file == file, ContinuousClock.now - time < freshness else {
            return try self.look(renewing: false).file == file
        }
        return true
    }

    /// Whether a process still uses the memory whose maps were opened: not after an exec.
    private static func isMemoryUsed(_ maps: SharedDescriptor) throws(FactFailure) -> Bool {
        var byte: UInt8 = 0
        let count = unsafe pread(maps.number, &byte, 1, 0)
        guard count >= 0 else { throw FactFailure(code: errno) }
        return count > 0
    }

    /// The path is a text that the kernel makes from the mount on which the file lies. In a mount namespace of their own, users choose it. So
    /// it names the file if the machine has this mount, or if it leads to the file here.
    func name(of file: ExecutedFile) throws(FactFailure) -> ExecutedName {
        let before = try anyLook()
        let isOfMachine = before.mount.map { mounts.contains($0) } ?? false
        // A mount keeps its number as long as somebody executes a file on it, and another one may get it then. A mount that a user takes
        // out of the machine's goes on without a place: its paths begin at its own root, where the user chose the names. So the path is
        // also that of before the mounts were read.
        let look = try look(renewing: false)
        guard look.file == file, before.file == file, let path = look.path else {
            return ExecutedName(path: look.path ?? "", isTrue: false)
        }
        let isInPlace = isOfMachine && look.mount == before.mount && path == before.path
        let isOfMachineNow = isInPlace && !look.file.isDeleted && !Self.isDeleted(path)
        return ExecutedName(path: path, isTrue: isOfMachineNow || ExecutedFile(at: path) == file)
    }

    /// Whether the kernel says behind a path that this name was deleted. The file may have others.
    private static func isDeleted(_ path: String) -> Bool {
        let end = " (deleted)".utf8
        return path.utf8.suffix(end.count).elementsEqual(end)
    }

    /// The daemon may not open the file. The program itself passes it.
    func content() throws(FactFailure) -> ExecutedContent { throw .refused }

    func isInOwnNamespace() throws(FactFailure) -> Bool {
        guard let own = OwnNamespace.processes.inode else { throw .unreadable }
        return try anyLook().processNamespace == own
    }

    func isInOwnUserNamespace() throws(FactFailure) -> Bool {
        guard let own = OwnNamespace.users.inode else { throw .unreadable }
        return try look(renewing: false).userNamespace == own
    }

    func userID() throws(FactFailure) -> UInt32 { try look(renewing: false).userID }

    /// Each process may read it of every other one, unless `/proc` hides it (`hidepid`). The helper reads it then.
    func realUserID() throws(FactFailure) -> UInt32 {
        do throws(FactFailure) { return try folder.realUserID() } catch {
            guard error != .unreadable else { throw error }
        }
        guard let user = try look(renewing: true).realUserID else { throw .refused }
        return user
    }

    /// As the real user.
    func realGroupID() throws(FactFailure) -> UInt32 {
        do throws(FactFailure) { return try folder.realGroupID() } catch {
            guard error != .unreadable else { throw error }
        }
        guard let group = try look(renewing: true).realGroupID else { throw .refused }
        return group
    }

    /// As the real user. Where neither the daemon nor the helper may read it, nobody is to be taken for a process that no login began.
    func loginUserID() throws(FactFailure) -> UInt32? {
        do throws(FactFailure) { return try folder.loginUserID() } catch {
            guard error != .unreadable else { throw error }
        }
        guard let login = try look(renewing: true).login else { throw .refused }
        return login.userID
    }

    // MARK: texts

    func status() throws(FactFailure) -> ProcessStatus {
        let text = try text("stat", ProcessFolder.statusByteCount) { $0.status }
        guard let status = ProcessStatus(parsing: text) else { throw .unreadable }
        return status
    }

    func controlGroups() throws(FactFailure) -> String {
        let text = try text("cgroup", ProcessFolder.controlGroupsByteCount) { $0.controlGroups }
        return String(decoding: text, as: UTF8.self)
    }

    /// A text that each process may read, unless `/proc` hides it (`hidepid`). Through a descriptor of the helper it can be read then, too.
    private func text(
        _ name: String, _ byteCount: Int, _ passed: (Known) -> SharedDescriptor?
    ) throws(FactFailure) -> [UInt8] {
        if let file = known.withLock({ passed($0) }) { return try ProcessFolder.text(of: file, shorterThan: byteCount) }
        do throws(FactFailure) { return try folder.text(name, shorterThan: byteCount) } catch {
            guard error != .unreadable, known.withLock({ $0.look }) == nil else { throw error }
        }
        _ = try look(renewing: true)
        guard let file = known.withLock({ passed($0) }) else { throw .refused }
        return try ProcessFolder.text(of: file, shorterThan: byteCount)
    }

    /// Below `hidepid` the folder answers the helper alone.
    func exit() throws(FactFailure) -> SharedDescriptor {
        try folder.exit { () throws(FactFailure) in _ = try look(renewing: false) }
    }
}
