import AccessControl
import Foundation
import Glibc
import OstiaryMessages
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// Starting, ending, and everything that can be in the way of either.
@Suite(.timeLimit(.minutes(10))) struct StartTests {
    // MARK: one daemon per user

    @Test func `a second daemon for the same folders says so and ends`() throws {
        let daemon = try DaemonProcess(in: DaemonFolders())
        let second = try DaemonStart(in: daemon.folders)
        #expect(second.ending == .exited(1))
        let complaint = "Another ostiaryd serves \(daemon.folders.runtime) already; use it, or stop it first."
        #expect(second.report.hasPrefix(complaint))
        #expect(daemon.standardError.contains("ostiaryd: \(complaint)\n"))
        #expect(try daemon.client().status().processID == UInt32(daemon.processID))
    }

    @Test func `a second daemon for the same state folder says so and ends`() throws {
        let daemon = try DaemonProcess(in: DaemonFolders())
        let other = try DaemonFolders()
        let second = try DaemonStart(
            in: other, options: ["--runtime-directory", other.runtime, "--state-directory", daemon.folders.state])
        #expect(second.ending == .exited(1))
        #expect(
            other.standardError
                == "ostiaryd: Another ostiaryd serves \(daemon.folders.state) already; use it, or stop it first.\n")
        #expect(DaemonFolders.status(of: other.socket).st_mode == 0, "no socket is left that nobody serves")
        #expect(try daemon.client().status().mode == .userForTests)
    }

    @Test func `a second daemon is refused whatever files were deleted`() throws {
        let daemon = try DaemonProcess(in: DaemonFolders())
        let other = try DaemonFolders()
        for name in try FileManager.default.contentsOfDirectory(atPath: daemon.folders.state)
        where !name.hasPrefix("vault.sqlite") && name != "device-secret" {
            #expect(unlink(daemon.folders.state + "/" + name) == 0)
        }
        let second = try DaemonStart(
            in: other, options: ["--runtime-directory", other.runtime, "--state-directory", daemon.folders.state])
        #expect(second.ending == .exited(1))
        #expect(second.report.hasPrefix("Another ostiaryd serves \(daemon.folders.state) already"))
    }

    @Test func `a folder that took the place of a served one is served by a daemon of its own`() throws {
        let daemon = try DaemonProcess(in: DaemonFolders())
        let (other, away) = (try DaemonFolders(), try DaemonFolders())
        #expect(rename(daemon.folders.state, away.root.path("away")) == 0)
        let second = try DaemonProcess(
            DaemonStart(
                in: other, options: ["--runtime-directory", other.runtime, "--state-directory", daemon.folders.state]),
            in: other)
        #expect(try second.client().ask(.findRight("kept")).refusal == .notFound)
    }

    @Test func `the socket of a daemon that was killed is cleared away`() throws {
        let daemon = try DaemonProcess(in: DaemonFolders())
        let right = try #require(try daemon.client().ask(.createRight("kept", .unrestricted)).right)
        #expect(daemon.kill() == .killed(signal: SIGKILL, leftCore: false))
        #expect(DaemonFolders.status(of: daemon.folders.socket).st_mode & S_IFMT == S_IFSOCK)
        let next = try daemon.restarted()
        #expect(try next.client().ask(.findRight("kept")).right == right)
    }

    @Test(arguments: ["file", "folder", "link", "fifo"])
    func `what is no socket is left where the socket belongs`(_ kind: String) throws {
        let folders = try DaemonFolders()
        try makeRuntimeFolder(folders)
        switch kind {
        case "file": try folders.write("precious", to: folders.socket)
        case "folder": #expect(mkdir(folders.socket, 0o700) == 0)
        case "link": #expect(symlink("/dev/null", folders.socket) == 0)
        default: #expect(mkfifo(folders.socket, 0o600) == 0)
        }
        try expectRefusal(
            in: folders, "\(folders.socket) is not a socket of yours; find out who made it, then remove it.")
    }

    @Test func `another program that listens at the socket's path is left alone`() throws {
        let folders = try DaemonFolders()
        try makeRuntimeFolder(folders)
        let listener = try UnixSocket.listen(at: folders.socket)
        try expectRefusal(in: folders, "Another program listens at \(folders.socket); stop it first.")
        _ = try UnixSocket.connect(to: folders.socket)
        _ = try listener.accept()
    }

    @Test(arguments: ["2>&-", "<&- >&- 2>&-"])
    func `a daemon that is started without standard streams writes its log into no file of its own`(
        closing: String
    ) throws {
        let folders = try DaemonFolders()
        let daemon = try DaemonProcess(
            in: folders, under: ["/bin/sh", "-c", "exec \"$@\" \(closing)", "sh"])
        #expect(try daemon.client().ask(.createRight("kept", .unrestricted)).right != nil)
        #expect(daemon.stop() == .exited(0))
        for (name, contents) in try folders.files() {
            #expect(contents.range(of: Data("ostiaryd".utf8)) == nil, "\(name)")
        }
        let next = try daemon.restarted()
        #expect(try next.client().ask(.findRight("kept")).right != nil)
    }

    // MARK: the store

    enum StoreDefect: CaseIterable {
        case garbage, empty, cutOff, newer, older, otherProgram, directory, link
        case secretMissing, secretOpen, secretCutOff, secretFlipped, secretOfAnother, secretEmpty
        case keysMissing, keysOpen, keysCutOff, keysFlipped, keysOfAnother, keysEmpty
    }

    @Test(arguments: StoreDefect.allCases)
    func `a store that cannot be used is refused and left as it is`(_ defect: StoreDefect) throws {
        let folders = try Stage.folders()
        let words = try make(defect, in: folders)
        let before = try folders.snapshot()
        try expectRefusal(in: folders, words)
        let after = try folders.snapshot()
        #expect(after.keys.sorted() == before.keys.sorted())
        for (name, entry) in before where after[name] != entry { Issue.record("\(name) was changed") }
    }

    /// Brings the defect about; what the complaint says.
    private func make(_ defect: StoreDefect, in folders: DaemonFolders) throws -> String {
        let store = "The store in \(folders.state) cannot be used:"
        let secret = "The device secret in \(folders.state) cannot be used:"
        let keys = "The file store-keys in \(folders.state) cannot be used:"
        let foreignKeys =
            "The file store-keys in \(folders.state) was changed, or does not belong to this store and this device. "
            + "Restore the whole folder from one backup; nothing was changed."
        switch defect {
        case .garbage:
            try folders.write(String(repeating: "not a database ", count: 1000), to: folders.store)
            return "\(store) vault.sqlite is no database, or a damaged one"
        case .empty:
            try folders.write("", to: folders.store)
            return "\(store) vault.sqlite is the database of another program"
        case .cutOff:
            #expect(truncate(folders.store, 6000) == 0)
            return "\(store) vault.sqlite is no database, or a damaged one"
        case .newer:
            try patch(folders.store, at: 60, [0, 0, 0, 99])  // user_version in the header of an SQLite file
            return
                "The store in \(folders.state) has version 99, but this daemon reads only up to 5. Upgrade Ostiary; "
                + "nothing was changed."
        case .older:
            try patch(folders.store, at: 60, [0, 0, 0, 4])
            return "The store in \(folders.state) has version 4: a build from before version 0.1.0 made it"
        case .otherProgram:
            try patch(folders.store, at: 68, [1, 2, 3, 4])  // application_id
            return "\(store) vault.sqlite is the database of another program"
        case .directory:
            #expect(unlink(folders.store) == 0)
            #expect(mkdir(folders.store, 0o700) == 0)
            return "\(store) vault.sqlite is not a plain file of yours"
        case .link:
            #expect(rename(folders.store, folders.store + ".elsewhere") == 0)
            #expect(symlink(folders.store + ".elsewhere", folders.store) == 0)
            return "\(store) vault.sqlite is not a plain file of yours"
        case .secretMissing:
            #expect(unlink(folders.deviceSecret) == 0)
            return
                "The device secret in \(folders.state) is missing, and the store there cannot be read without it. "
                + "Restore the file from a backup. To start with an empty store, move the folder away."
        case .secretOpen:
            #expect(chmod(folders.deviceSecret, 0o644) == 0)
            return "\(secret) other users can reach it. Restore it from a backup; nothing was changed."
        case .secretCutOff:
            #expect(truncate(folders.deviceSecret, 68) == 0)
            return "\(secret) it is damaged."
        case .secretFlipped:
            try patch(folders.deviceSecret, at: 20, [0xFF, 0, 0xFF])
            return "\(secret) it is damaged."
        case .secretOfAnother:
            try copy(\.deviceSecret, ofAnotherTo: folders)
            return foreignKeys
        case .secretEmpty:
            #expect(truncate(folders.deviceSecret, 0) == 0)
            return "\(secret) it is damaged"
        case .keysMissing:
            #expect(unlink(folders.storeKeys) == 0)
            return
                "The file store-keys in \(folders.state) is missing, and the store there cannot be read without it. "
                + "Restore the file from a backup. To start with an empty store, move the folder away."
        case .keysOpen:
            #expect(chmod(folders.storeKeys, 0o644) == 0)
            return "\(keys) other users can reach it. Restore it from a backup; nothing was changed."
        case .keysCutOff:
            #expect(truncate(folders.storeKeys, 100) == 0)
            return foreignKeys
        case .keysFlipped:
            try patch(folders.storeKeys, at: 30, [0xFF, 0, 0xFF])
            return foreignKeys
        case .keysOfAnother:
            try copy(\.storeKeys, ofAnotherTo: folders)
            return foreignKeys
        case .keysEmpty:
            #expect(truncate(folders.storeKeys, 0) == 0)
            return "\(keys) it is damaged"
        }
    }

    /// Puts a file of another daemon's store in the place of the same one.
    private func copy(_ file: KeyPath<DaemonFolders, String>, ofAnotherTo folders: DaemonFolders) throws {
        let other = try DaemonProcess(in: DaemonFolders())
        #expect(other.stop() == .exited(0))
        try Data(contentsOf: URL(fileURLWithPath: other.folders[keyPath: file]))
            .write(to: URL(fileURLWithPath: folders[keyPath: file]))
    }

    private func patch(_ path: String, at offset: off_t, _ bytes: [UInt8]) throws {
        let file = try Descriptor(open(path, O_WRONLY | O_CLOEXEC), from: "open", subject: path)
        #expect(pwrite(file.number, bytes, bytes.count, offset) == bytes.count)
    }

    // MARK: folders and configuration

    @Test(arguments: [0o755, 0o770, 0o701] as [mode_t]) func `a folder that is open to others is refused`(
        _ mode: mode_t
    ) throws {
        for keyPath in [\DaemonFolders.state, \.runtime] {
            let folders = try DaemonFolders()
            let path = folders[keyPath: keyPath]
            #expect(mkdir(path, 0o700) == 0)
            #expect(chmod(path, mode) == 0)
            try expectRefusal(
                in: folders, "\(path) must be a folder of yours that is closed to others: chmod 700 \(path)")
            #expect(DaemonFolders.mode(of: path) == mode)
        }
    }

    @Test func `a link in the place of a folder is refused`() throws {
        for (keyPath, variable) in [(\DaemonFolders.state, "XDG_STATE_HOME"), (\.runtime, "XDG_RUNTIME_DIR")] {
            let folders = try DaemonFolders()
            let path = folders[keyPath: keyPath]
            #expect(mkdir(folders.root.path("elsewhere"), 0o700) == 0)
            #expect(symlink(folders.root.path("elsewhere"), path) == 0)
            try expectRefusal(
                in: folders,
                "\(path) is a symbolic link. Ostiary needs a folder: move it here, or set \(variable).")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folders.root.path("elsewhere")).isEmpty)
        }
    }

    static let badConfigurations: [(String, mode_t)] = [
        ("prompt.pinentry = pinentry-tty\n", 0o600), ("prompt.terminal = sometimes\n", 0o600), ("nonsense\n", 0o600),
        ("prompt.time-limit-seconds = 0\n", 0o600), ("", 0o622), ("", 0o620),
    ]

    @Test(arguments: badConfigurations)
    func `a configuration that is not understood or writable by others is refused`(_ text: String, _ mode: mode_t)
        throws
    {
        let folders = try DaemonFolders()
        try folders.write(text, to: folders.configuration, mode: mode)
        try expectRefusal(in: folders, "The configuration \(folders.configuration) cannot be used: ")
    }

    @Test(arguments: ["prompt.front-ends = vt", "users.store-mebibytes = 64"])
    func `a setting of the machine's daemon is refused`(_ line: String) throws {
        let folders = try DaemonFolders(configurationText: line + "\n")
        try expectRefusal(in: folders, "The configuration \(folders.configuration) ")
    }

    @Test func `a configuration that was named and is not there is refused`() throws {
        let folders = try DaemonFolders()
        #expect(unlink(folders.configuration) == 0)
        try expectRefusal(in: folders, "\(folders.configuration) does not exist.")
    }

    @Test(arguments: [[], ["--runtime-directory", "relative", "--state-directory", "/tmp/x"], ["--no-such-option"]])
    func `wrong options are a usage error`(_ options: [String]) throws {
        #expect(try DaemonStart(in: DaemonFolders(), options: options).ending == .exited(2))
    }

    /// Tries to start a daemon; expects exit code 1 and these words, and no socket of ours.
    private func expectRefusal(
        in folders: DaemonFolders, _ words: String, under wrapper: [String] = [],
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let socket = DaemonFolders.status(of: folders.socket).st_mode
        let start = try DaemonStart(in: folders, under: wrapper)
        #expect(start.ending == .exited(1), sourceLocation: location)
        #expect(start.report.hasPrefix(words), "\(start.report)", sourceLocation: location)
        #expect(folders.standardError.hasPrefix("ostiaryd: \(words)"), sourceLocation: location)
        #expect(DaemonFolders.status(of: folders.socket).st_mode == socket, sourceLocation: location)
    }

    private func makeRuntimeFolder(_ folders: DaemonFolders) throws {
        try #require(mkdir(folders.runtime, 0o700) == 0)
    }

    // MARK: clock and user

    @Test(
        .enabled(if: geteuid() == 0, "only root makes a time namespace"), arguments: ["86400", "-1"])
    func `a boot clock that was moved is refused`(_ seconds: String) throws {
        let folders = try DaemonFolders()
        try expectRefusal(
            in: folders,
            "The daemon runs in a time namespace that moves the boot clock by \(seconds) seconds, so the delays "
                + "after wrong passcodes cannot be measured. Start it outside of that namespace.",
            under: ["/usr/bin/unshare", "--fork", "--time", "--boottime", seconds, "--"])
        #expect(DaemonFolders.status(of: folders.store).st_mode == 0, "nothing is made")
    }

    @Test(.enabled(if: geteuid() == 0, "only root may surely make a user namespace"))
    func `a user whom the system does not name is refused`() throws {
        let folders = try DaemonFolders()
        try expectRefusal(
            in: folders, "The system has no name for user 4000000123, but a store belongs to a name and a number.",
            under: ["/usr/bin/unshare", "--user", "--map-user=4000000123", "--"])
        #expect(DaemonFolders.status(of: folders.store).st_mode == 0, "nothing is made")
    }

    /// Otherwise the report would go into the first file that the daemon opens, its lock, and close it.
    @Test func `a report that nobody reads is refused`() throws {
        let folders = try DaemonFolders()
        let process = try SpawnedProcess(
            DaemonStart.program, ["--reports-readiness"] + folders.options, environment: DaemonStart.environment)
        #expect(process.wait() == .exited(1))
        #expect(DaemonFolders.status(of: folders.store).st_mode == 0, "nothing is made")
    }

    /// A limit that the starting program had. The signal that comes with it would end the daemon for all programs.
    @Test func `a limit on file sizes refuses what does not fit, and ends nothing`() throws {
        let daemon = try DaemonProcess(in: DaemonFolders())
        let client = try daemon.client()
        #expect(try client.ask(.createRight("before", .unrestricted)).right != nil)
        let size = DaemonFolders.status(of: daemon.folders.store).st_size
        try limitFiles(of: daemon, to: "\(size)")
        var refused: WireFailureCode?
        for number in 0..<200 where refused == nil {
            refused = try client.ask(.createRight("\(number)", .unrestricted)).refusal
        }
        #expect(refused != nil)
        try limitFiles(of: daemon, to: "unlimited")
        #expect(try daemon.client().ask(.findRight("before")).right != nil)
        #expect(daemon.stop() == .exited(0))
        try expectIntactLog(daemon.restarted())
    }

    private func limitFiles(of daemon: DaemonProcess, to size: String) throws {
        let arguments = ["--pid", "\(daemon.processID)", "--fsize=\(size):unlimited"]
        #expect(try SpawnedProcess("/usr/bin/prlimit", arguments).wait() == .exited(0))
    }

    @Test func `a name to take over is of no account for the owner themselves`() throws {
        let folders = try DaemonFolders()
        let start = try DaemonStart(in: folders, options: folders.options + ["--adopt-user-name", "former"])
        let daemon = try DaemonProcess(start, in: folders)
        #expect(try daemon.client().status().mode == .userForTests)
    }

    // MARK: modes

    @Test func `folders, socket and files are private under any umask`() throws {
        let folders = try DaemonFolders()
        let daemon = try DaemonProcess(in: folders, under: ["/bin/sh", "-c", "umask 0; exec \"$0\" \"$@\""])
        #expect(try daemon.client().ask(.createRight("x", .unrestricted)).right != nil)
        #expect(DaemonFolders.mode(of: folders.runtime) == 0o700)
        #expect(DaemonFolders.mode(of: folders.state) == 0o700)
        #expect(DaemonFolders.mode(of: folders.socket) == 0o600)
        for name in try FileManager.default.contentsOfDirectory(atPath: folders.state) {
            #expect(DaemonFolders.mode(of: "\(folders.state)/\(name)") == 0o600, "\(name)")
        }
    }

    // MARK: ends

    @Test(arguments: [SIGTERM, SIGINT, SIGHUP])
    func `a daemon that is told to end removes its socket and anchors its log`(_ signal: CInt) throws {
        let stage = try Stage()
        let context = try stage.authorizedContext()
        #expect(try stage.canSign(in: context))
        let count = try stage.client.status().logRecordCount
        #expect(stage.daemon.kill(signal) == .exited(0))
        #expect(DaemonFolders.status(of: stage.folders.socket).st_mode == 0)
        #expect(try stage.client.isEndedByDaemon)
        let next = try stage.daemon.restarted()
        #expect(try next.client().status().logRecordCount >= count)
        try expectIntactLog(next)
        #expect(try cutLastRecord(next), "its end is anchored: a cut is seen")
    }

    /// Cuts the log of a daemon that ends now; whether the next one notices.
    private func cutLastRecord(_ daemon: DaemonProcess) throws -> Bool {
        #expect(daemon.stop() == .exited(0))
        let path = daemon.folders.state + "/audit.log"
        let size = DaemonFolders.status(of: path).st_size
        #expect(truncate(path, size - 1) == 0)
        let next = try daemon.restarted()
        guard case .logVerdict(let verdict)? = try next.client().ask(Self.verifyLog).body else { return false }
        return !verdict.intact
    }

    @Test func `after a kill the log is whole, and an authorization that was granted is in it`() throws {
        let stage = try Stage()
        _ = try stage.authorizedContext()
        #expect(stage.daemon.kill() == .killed(signal: SIGKILL, leftCore: false))
        let next = try stage.daemon.restarted()
        try expectIntactLog(next)
        #expect(
            try next.client().log().contains {
                $0.event == "authorize" && $0.result == "granted" && $0.object == Stage.rightName
            })
    }

    private static let verifyLog = WireRequest.OneOf_Body.verifyLog(.with { $0.question.interactionNotAllowed = true })

    private func expectIntactLog(_ daemon: DaemonProcess) throws {
        guard case .logVerdict(let verdict)? = try daemon.client().ask(Self.verifyLog).body else {
            Issue.record("no verdict")
            return
        }
        #expect(verdict.intact, "\(verdict.explanation)")
    }

    @Test func `a daemon that is told to end amid requests ends in order`() throws {
        let stage = try Stage()
        _ = try stage.beginAuthorizing(in: stage.client.openContext())
        let clients = try (0..<4).map { _ in try Busy(stage.daemon.client()) }
        for client in clients { client.begun.wait() }
        #expect(stage.daemon.stop() == .exited(0))
        #expect(stage.terminal.isAsBefore)
        for client in clients { client.ended.wait() }
        try expectIntactLog(stage.daemon.restarted())
    }

    /// A client that asks for one thing after the other until the daemon is gone.
    private final class Busy: @unchecked Sendable {
        // SAFETY: (@unchecked) the client is used by the one thread alone.
        private let client: RawClient
        let begun = DispatchSemaphore(value: 0)
        let ended = DispatchSemaphore(value: 0)

        init(_ client: RawClient) {
            self.client = client
            Thread.detachNewThread { [self] in
                defer { ended.signal() }
                // Any error is the end of the connection, which is what this waits for.
                while (try? self.client.ask(.createRight("busy", .unrestricted, replace: true))) != nil {
                    begun.signal()
                    guard (try? self.client.ask(.readLog(.init()))) != nil else { return }
                }
            }
        }
    }

    @Test func `a daemon that ends takes its prompt along and restores the terminal`() throws {
        let stage = try Stage()
        let context = try stage.client.openContext()
        _ = try stage.beginAuthorizing(in: context)
        #expect(stage.daemon.stop() == .exited(0))
        try eventually("the prompt is gone") { runningPrompts(of: stage.daemon.processID).isEmpty }
        try eventually("the terminal is as before") { stage.terminal.isAsBefore }
    }
}
