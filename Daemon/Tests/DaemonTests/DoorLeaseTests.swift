import AccessControl
import Foundation
import Glibc
import OstiaryMessages
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

/// Leases of a door's clients, agreed to at the first use on a terminal.
@Suite(.timeLimit(.minutes(10))) struct DoorLeaseTests {
    private let stage: DoorStage
    private let terminal: PseudoTerminal

    init() throws {
        stage = try DoorStage()
        try stage.registrations.register(stage.program("ostiary"), as: "org.ostiary.command")
        try stage.setPasscode()
        terminal = try PseudoTerminal()
    }

    private func makeRight() throws -> Data {
        let control = try AccessControl(
            availability: .whenUnlocked, confirmingEachSignatureWith: .passcode,
            leases: GrantLimits(hardSeconds: 3600))
        let rule = Data(control.canonicalBytes)
        return try stage.makeRight(
            .createRight(
                .with {
                    ($0.identifier, $0.accessControl) = ("commits", rule)
                    $0.question = .reason("to make a right")
                }))
    }

    private func sign(_ right: Data) -> WireRequest.OneOf_Body {
        .confirmedSign(
            .with {
                ($0.rightID, $0.algorithm) = (right, "algid:sign:ECDSA:message-X962:SHA256")
                $0.question = .reason("to commit")
            })
    }

    /// Signs for a client; the keys are typed before the passcode.
    private func sign(_ right: Data, for client: DoorStage.Client, typing keys: String) throws -> Answer {
        terminal.clearScreen()
        let id = try stage.send(sign(right), for: client, asking: true, tail: Array("a commit".utf8))
        terminal.waitFor("Passcode: ")
        terminal.clearScreen()
        if !keys.isEmpty {
            terminal.type(keys)
            // The choice, which is shown once more. The line is broken before its last word.
            terminal.waitFor("Only in the program's")
        }
        terminal.type(Stage.passcode + "\r")
        return try stage.door.client.answer(to: id)
    }

    private func refusal(_ right: Data, for client: DoorStage.Client) throws -> String? {
        let answer = try stage.ask(sign(right), for: client, tail: Array("a commit".utf8))
        return answer.isDone ? nil : answer.cause
    }

    @Test func `the next signatures of the same program through the same door in the same terminal ask nobody`() throws
    {
        let right = try makeRight()
        let (client, later) = try stage.clients(of: terminal)
        #expect(try sign(right, for: client, typing: "\u{C}").isDone)
        for _ in 1...3 { #expect(try refusal(right, for: client) == nil) }
        // A later process of the program, as the next `ssh` would be.
        #expect(try refusal(right, for: later) == nil)
        let records = try stage.records().filter { $0.event == "sign" && $0.result == "granted" }
        #expect(records.map { $0.leaseID == nil } == [true, false, false, false, false])
        #expect(Set(records.compactMap(\.leaseID)).count == 1)
        #expect(records.allSatisfy { $0.program.hasSuffix(", through \(stage.registrations.path)") })
    }

    @Test func `another program, another file in its place, or the door itself are refused`() throws {
        let right = try makeRight()
        // It stays, so that no other file gets the number of its program's.
        let client = try stage.client(on: terminal)
        #expect(try sign(right, for: client, typing: "\u{C}").isDone)
        #expect(try refusal(right, for: stage.client("other")) == "lease.other-program")
        let itself = try stage.door.client.ask(sign(right), tail: Array("a commit".utf8))
        #expect(itself.cause == "lease.other-program")
        let path = try stage.program("client")
        try FileManager.default.removeItem(atPath: path)
        #expect(try refusal(right, for: stage.client()) == "lease.program-changed")
        // The kernel has another name for a file that was removed, and a running client is named by that.
        let again = try refusal(right, for: client)
        #expect(again == "lease.other-program")
    }

    /// Packages and installations have the doors as one file.
    @Test func `another name of the same file is another program`() throws {
        let right = try makeRight()
        let client = try stage.client(on: terminal)
        #expect(try sign(right, for: client, typing: "\u{C}").isDone)
        let second = stage.daemon.folders.root.path("second")
        try #require(link(stage.program("client"), second) == 0)
        #expect(try refusal(right, for: stage.client("second")) == "lease.other-program")
        #expect(try refusal(right, for: client) == nil)
    }

    @Test func `the same program in another terminal, or without one, is asked for itself`() throws {
        let right = try makeRight()
        let client = try stage.client(on: terminal)
        #expect(try sign(right, for: client, typing: "\u{C}").isDone)
        let other = try PseudoTerminal()
        #expect(try refusal(right, for: stage.client(on: other)) == "lease.other-terminal")
        #expect(try refusal(right, for: stage.client()) == "lease.other-terminal")
        #expect(try refusal(right, for: client) == nil)
        let grant = try #require(try stage.records().last { $0.event == "lease-grant" })
        #expect(grant.reason == "only in \(terminal.path)" && grant.result == "granted")
    }

    @Test func `the owner's command lists all, and another program its own alone`() throws {
        let right = try makeRight()
        let client = try stage.client(on: terminal)
        #expect(try sign(right, for: client, typing: "\u{C}").isDone)
        func list(_ caller: Caller) throws -> WireLeaseList {
            guard case .leases(let list)? = try caller.client.ask(.listLeases(.init())).body else {
                throw RawClient.UnexpectedAnswer()
            }
            return list
        }
        let others = try list(stage.registrations.owner)
        #expect(others.leases.isEmpty && others.total == 0 && others.hidden == 1)
        let own = try list(stage.registrations.tool(stage.program("client")))
        #expect(own.leases.map(\.objects.first?.name) == ["commits"] && own.hidden == 0)
        #expect(own.leases.map(\.terminal) == [terminal.path] && own.leases[0].session != nil)
        let all = try list(stage.registrations.tool(stage.program("ostiary")))
        #expect(all.leases.map(\.objects.first?.name) == ["commits"] && all.hidden == 0)
    }

    /// Whether the question for an item of this service offers leases.
    private func offersLeases(_ service: String) throws -> Bool {
        let everybody = Requirement.unrestricted
        let control = try AccessControl(
            availability: .whenUnlocked,
            requirements: [.create: everybody, .read: .passcode, .delete: everybody, .change: everybody])
        let attributes: [WireAttribute] = [
            .with { ($0.key, $0.value) = ("svce", .data(Data(service.utf8))) },
            .with { ($0.key, $0.value) = ("agrp", .text(RegistrationStage.group)) },
        ]
        let made = try stage.door.client.ask(
            .addItem(
                .with {
                    ($0.itemClass, $0.attributes, $0.hasData_p) = ("genp", attributes, true)
                    ($0.accessControl, $0.shownAccessControl) = (Data(control.canonicalBytes), Data("shown".utf8))
                }), tail: Array("key".utf8))
        try #require(made.items?.count == 1, "\(made.failure?.explanation ?? "")")
        let terminal = try PseudoTerminal()
        let client = try stage.client(on: terminal)
        let reading = WireFindItemsRequest.with {
            ($0.query.itemClass, $0.query.attributes, $0.returnsData) = ("genp", attributes, true)
            $0.use.question = .reason("to log in")
        }
        let id = try stage.send(.findItems(reading), for: client, asking: true)
        terminal.waitFor("Passcode: ")
        let isOffered = terminal.shows("Counts once.")
        terminal.answer("Passcode: ", with: Stage.passcode)
        #expect(try stage.door.client.answer(to: id).tail == Array("key".utf8))
        return isOffered
    }

    @Test func `the question for an imported SSH key offers no lease, and that for another item does`() throws {
        #expect(try offersLeases("example"))
        #expect(try !offersLeases("ostiary.ssh.private"))
    }

    @Test func `a client that executes another program gets nothing more`() throws {
        let right = try makeRight()
        let client = try stage.client(on: terminal, next: ["/usr/bin/sleep", "600"])
        #expect(try sign(right, for: client, typing: "\u{C}").isDone)
        #expect(try refusal(right, for: client) == nil)
        try client.caller.executeNext("/usr/bin/sleep")
        let last = try refusal(right, for: client)
        // Once a second the daemon looks at the client itself, and finds the change before it looks at the lease.
        #expect(["lease.other-program", "client.changed"].contains(last))
    }

    @Test func `once grants nothing, and a lock ends what was agreed to`() throws {
        let right = try makeRight()
        let client = try stage.client(on: terminal)
        #expect(try sign(right, for: client, typing: "").isDone)
        #expect(try refusal(right, for: client)?.hasPrefix("lease.") == false)
        #expect(try sign(right, for: client, typing: "\u{C}\u{C}").isDone)
        #expect(try refusal(right, for: client) == nil)
        #expect(try stage.registrations.owner.client.ask(.lock).isDone)
        #expect(try refusal(right, for: client) == "lease.locked")
        let refused = try #require(try stage.records().last { $0.event == "sign" && $0.result == "refused" })
        #expect(refused.reason == "lease.locked" && refused.leaseID != nil)
    }
}
