import AccessControl
import Foundation
import Glibc
import OstiaryMessages
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// A daemon that knows a passcode and a right, and a caller on a terminal that owns the right.
struct Stage {
    let daemon: DaemonProcess
    let terminal: PseudoTerminal
    let caller: Caller
    /// Signs and shows its secret after the passcode.
    let right: Data

    var client: RawClient { caller.client }
    var folders: DaemonFolders { daemon.folders }

    static let passcode = "correct horse 7d1f"
    static let secret = "marker-secret-of-the-right-91ba"
    static let rightName = "2fa"

    init(configurationText: String = "") throws {
        try self.init(DaemonProcess(in: Self.folders(configurationText: configurationText)))
    }

    /// A stage around a daemon in folders of ``folders(configurationText:)``.
    init(_ daemon: DaemonProcess) throws {
        self.daemon = daemon
        terminal = try PseudoTerminal()
        caller = try Caller(at: daemon.folders, on: terminal).greeted()
        right = try #require(try caller.client.ask(.findRight(Self.rightName)).right).rightID
    }

    /// Folders of a daemon that was given passcode and right, and was stopped.
    static func folders(configurationText: String = "") throws -> DaemonFolders {
        let folders = try DaemonFolders(configurationText: configurationText)
        guard mkdir(folders.state, 0o700) == 0 else { throw SystemCallError("mkdir", subject: folders.state) }
        for (name, contents) in try model.get() { try folders.write(contents, to: "\(folders.state)/\(name)") }
        return folders
    }

    /// The files of such a daemon's state folder.
    private static let model = Result { try makeModel() }

    private static func makeModel() throws -> [String: Data] {
        let daemon = try DaemonProcess(in: DaemonFolders())
        let terminal = try PseudoTerminal()
        let caller = try Caller(at: daemon.folders, on: terminal).greeted()
        let setting = try caller.client.send(.passcode(.set), descriptor: terminal.slave.number)
        terminal.answer("New passcode: ", with: passcode)
        terminal.answer("Repeat new passcode: ", with: passcode)
        try #require(try caller.client.answer(to: setting).isDone)
        let created = try caller.client.ask(
            .createRight(rightName, .passcode, hasSecret: true), tail: Array(secret.utf8))
        try #require(created.right != nil)
        try #require(daemon.stop() == .exited(0))
        return try daemon.folders.snapshot().compactMapValues(\.contents)
    }

    // MARK: steps

    /// Asks for the right in a context; the prompt is up when this returns the request's id.
    func beginAuthorizing(in context: UInt64, reason: String = "to test") throws -> UInt64 {
        let id = try client.send(.authorize(right, in: context, reason: reason), descriptor: terminal.slave.number)
        terminal.waitFor("Passcode: ")
        return id
    }

    /// Opens a context that the right is authorized in.
    func authorizedContext() throws -> UInt64 {
        let context = try client.openContext()
        let id = try client.send(.authorize(right, in: context), descriptor: terminal.slave.number)
        terminal.answer("Passcode: ", with: Self.passcode)
        try #require(try client.answer(to: id).factors == ["passcode"])
        return context
    }

    /// Whether the context can sign; false when it says that the right is not authorized there.
    func canSign(in context: UInt64) throws -> Bool {
        let answer = try client.ask(.sign(right, in: context), tail: WireRequest.OneOf_Body.digest)
        if answer.refusal != nil { try #require(answer.refusal == .notAuthorized) }
        return answer.isDone
    }
}

extension PseudoTerminal {
    /// Waits for a field and fills it in.
    func answer(_ field: String, with text: String, _ location: SourceLocation = #_sourceLocation) {
        waitFor(field, location)
        clearScreen()
        type(text + "\r")
    }
}

/// The user that the tests run as.
enum Namespaces {
    /// Executes what follows in a user and a pid namespace of its own.
    static let own = ["/usr/bin/unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"]
    static let needed: Comment = "this machine lets nobody make namespaces"
    static let areAllowed =
        (try? SpawnedProcess(own[0], Array(own.dropFirst()) + ["/bin/true"], descriptors: [-1, -1, -1]).wait())
        == .exited(0)
}

enum Account {
    static let isRoot = getuid() == 0
    /// A user that owns nothing.
    static let nobody: uid_t = 65534
    /// Executes what follows as that user.
    static let asNobody = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    static let needsRoot: Comment = "only root can become another user"
}
