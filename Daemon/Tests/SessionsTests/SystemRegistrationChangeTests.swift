import AccessControl
import CLinuxShims
import Foundation
import Glibc
import OstiaryMessages
import ProcessFacts
import StoreTestSupport
import TerminalTestSupport
import Testing
import UnixSocket

@testable import Broker
@testable import BrokerTestSupport
@testable import Callers
@testable import Sessions

/// What root changes in the folder of registrations while programs are connected. Real files of a real daemon are in `DaemonTests`.
@Suite(
    "A change of the administrator's", .timeLimit(.minutes(10)),
    .enabled(if: geteuid() == 0, "only root can register programs for all users"))
struct SystemRegistrationChangeTests {
    /// Ways to take a door its right.
    enum Change: CaseIterable, Sendable {
        case removed, replaced, editedInPlace, openToOthers, folderOpenToOthers, folderAway

        /// Whether the program is registered afterwards, but not as a door.
        var keepsRegistration: Bool { self == .replaced || self == .editedInPlace }
        var cause: String { keepsRegistration ? "door.not-a-door" : "door.not-registered" }
    }

    private static let program = "/usr/bin/true"
    private static let always = AccessControl(availability: .always, using: .unrestricted)

    private let interlude = Interlude()
    private let fixture: BrokerFixture
    /// This program, which counts as `program`, a door.
    private let door: TestClient
    /// The client, which knows nothing of it.
    private let client: SpawnedProcess
    private let process: SharedDescriptor
    private let folder: String
    private var file: String { folder + "/door.conf" }

    init() throws {
        var facts = PlayedFacts()
        let exit = SharedDescriptor(try Descriptor(ostiary_open_process(getpid()), from: "pidfd_open"))
        facts.processes[getpid()] = .success(
            PlayedProcess(getpid()) {
                $0.name = .success(ExecutedName(path: Self.program, isTrue: true))
                $0.exit = .success(exit)
            })
        fixture = try BrokerFixture(
            facts: facts,
            around: { [interlude] in InterludeEnclave(enclave: $0, interlude: interlude, isImmediate: false) })
        folder = fixture.folder.path("apps.d")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try #require(chmod(folder, 0o755) == 0)
        try Self.write(Self.text(), to: folder + "/door.conf")
        door = try fixture.client()
        let client = try SpawnedProcess("/bin/sleep", ["600"])
        self.client = client
        process = SharedDescriptor(try Descriptor(ostiary_open_process(client.processID), from: "pidfd_open"))
    }

    /// A registration of the program. It has as many bytes if the program is no door.
    private static func text(isDoor: Bool = true, groups: String = "com.example.a, com.example.b") -> String {
        "application-id = com.example.door\npath = \(program)\naccess-groups = \(groups)\ndoor = \(isDoor ? "yes" : "no ")\n"
    }

    private static func write(_ text: String, to path: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try #require(chmod(path, 0o644) == 0)
    }

    private func make(_ change: Change) throws {
        switch change {
        case .removed: try #require(unlink(file) == 0)
        case .replaced:
            try Self.write(Self.text(isDoor: false), to: file + ".new")
            try #require(rename(file + ".new", file) == 0)
        case .editedInPlace: try Self.editInPlace(file)
        case .openToOthers: try #require(chmod(file, 0o666) == 0)
        case .folderOpenToOthers: try #require(chmod(folder, 0o777) == 0)
        case .folderAway: try #require(rename(folder, folder + ".away") == 0)
        }
    }

    /// Makes the door none. The file stays the same one and as long as it is.
    private static func editInPlace(_ file: String) throws {
        let handle = try #require(FileHandle(forWritingAtPath: file))
        try handle.write(contentsOf: Data(text(isDoor: false).utf8))
        try handle.close()
    }

    /// As the door, for its client.
    private func ask(_ body: WireRequest.OneOf_Body, tail: Data = Data()) throws -> WireReply.OneOf_Body {
        let id = try door.send(body, for: process, tail: tail)
        let answer = try door.answer()
        if let refused = answer.refused { throw refused }
        guard answer.id == id else { throw TestClient.UnexpectedAnswer() }
        return answer.body
    }

    private func openContext() throws -> UInt64 {
        guard case .context(let context) = try ask(.openContext(.init())) else { throw TestClient.UnexpectedAnswer() }
        return context.contextID
    }

    /// A right of the door that its client may use, and a signature with it.
    private func authorizedSignature() throws -> WireRequest.OneOf_Body {
        let (right, context) = (try door.create("right", Self.always), try openContext())
        let authorization = WireAuthorizeRequest.with {
            ($0.contextID, $0.subject, $0.question) = (context, .rightID(right.rightID), TestClient.question)
        }
        guard case .granted = try ask(.authorize(authorization)) else { throw TestClient.UnexpectedAnswer() }
        return .sign(
            .with {
                ($0.contextID, $0.rightID) = (context, right.rightID)
                $0.algorithm = "algid:sign:ECDSA:digest-X962:SHA256"
            })
    }

    // MARK: open connections

    @Test(arguments: Change.allCases)
    func `takes the clients from a connected door within a second, and no more`(change: Change) throws {
        _ = try openContext()
        try make(change)
        fixture.clock.advance(by: .seconds(1))
        let refused = #expect(throws: Refused.self) { _ = try openContext() }
        #expect(refused?.code == .missingEntitlement && refused?.cause == change.cause)
        let status = try door.status().caller
        #expect(status.program == Self.program)
        #expect(status.applicationID == (change.keepsRegistration ? "com.example.door" : ""))
        #expect(try door.log().contains { $0.event == "vouch" && $0.reason == change.cause })
    }

    @Test func `counts before a release, too`() throws {
        let signature = try authorizedSignature()
        let (file, clock) = (file, fixture.clock)
        interlude.next {
            if unlink(file) != 0 { Issue.record("the registration is still there") }
            clock.advance(by: .seconds(1))
        }
        let refused = #expect(throws: Refused.self) { _ = try ask(signature, tail: Data(count: 32)) }
        #expect(refused?.code == .missingEntitlement && refused?.cause == "door.not-registered")
        #expect(try door.log().allSatisfy { $0.event != "sign" || $0.result == "refused" })
    }

    @Test func `takes a group from a connected program, and leaves it the others`() throws {
        func query(_ group: String) -> WireItemQuery { TestClient.query("genp", ["agrp": .text(group)]) }
        for group in ["com.example.a", "com.example.b"] {
            try door.addItem(["acct": .text(group), "agrp": .text(group)])
            #expect(try door.itemData(query(group)) == "data")
        }
        try Self.write(Self.text(groups: "com.example.a"), to: file)
        fixture.clock.advance(by: .seconds(1))
        let refused = #expect(throws: Refused.self) { _ = try door.itemData(query("com.example.b")) }
        #expect(refused?.code == .missingEntitlement && refused?.cause == "item.access-group")
        #expect(try door.itemData(query("com.example.a")) == "data")
        #expect(try door.status().caller.accessGroups == ["com.example.a", "com.example.door"])
    }

    @Test func `concerns no program whose registration is as it was`() throws {
        let signature = try authorizedSignature()
        try Self.write("application-id = com.example.other\npath = /usr/bin/openssl\n", to: folder + "/other.conf")
        fixture.clock.advance(by: .seconds(1))
        _ = try ask(signature, tail: Data(count: 32))
        #expect(
            try door.status().caller.accessGroups == ["com.example.a", "com.example.b", "com.example.door"])
    }

    @Test func `that is undone gives the door its clients back`() throws {
        try make(.folderOpenToOthers)
        fixture.clock.advance(by: .seconds(1))
        #expect(throws: Refused.self) { _ = try openContext() }
        try #require(chmod(folder, 0o755) == 0)
        fixture.clock.advance(by: .seconds(1))
        _ = try openContext()
    }

    // MARK: looks at the folder

    /// Looks at the folder, each time a second later.
    private final class Looks {
        private let applications: SystemApplications
        private var watch = SystemApplicationsWatch()
        private var time = Duration.zero

        init(at folder: String) { applications = SystemApplications(folder: folder) { _, _ in } }

        func seesChange(after wait: Duration = .seconds(1)) -> Bool {
            time += wait
            return watch.seesChange(of: applications, at: time)
        }
    }

    /// Waits until the stamps are old enough to show each change.
    private func settle() { usleep(2_100_000) }

    @Test(arguments: Change.allCases)
    func `is seen once, whichever it is`(change: Change) throws {
        settle()
        let looks = Looks(at: folder)
        #expect(looks.seesChange(), "the first look")
        #expect(!looks.seesChange())
        try make(change)
        #expect(looks.seesChange())
        settle()
        _ = looks.seesChange()
        #expect(!looks.seesChange())
    }

    @Test func `is seen in the file that a link leads to`() throws {
        let target = fixture.folder.path("door.conf")
        try #require(rename(file, target) == 0 && symlink(target, file) == 0)
        settle()
        let looks = Looks(at: folder)
        #expect(looks.seesChange(), "the first look")
        #expect(!looks.seesChange())
        try Self.editInPlace(target)
        #expect(looks.seesChange())
    }

    @Test func `is looked for no more than once a second`() throws {
        let looks = Looks(at: folder)
        #expect(looks.seesChange(), "the first look")
        try make(.removed)
        #expect(!looks.seesChange(after: .milliseconds(999)))
        #expect(looks.seesChange(after: .milliseconds(1)))
    }

    @Test func `of a moment ago counts at the next look, too, since another one may have the same stamp`() throws {
        // The stamps are young for two seconds. On a slow machine that may need several tries.
        while true {
            let begin = ContinuousClock.now
            try Self.write(Self.text(), to: file)
            let looks = Looks(at: folder)
            let seen = [looks.seesChange(), looks.seesChange()]
            guard begin.duration(to: .now) < .seconds(1) else { continue }
            #expect(seen == [true, true])
            return
        }
    }
}
