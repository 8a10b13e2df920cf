import AccessControl
import CLinuxShims
import ExactNames
import Foundation
import OstiaryMessages
import Owners
import PromptProtocol
import Refusals
import StoreTestSupport
import Synchronization
import Testing
import UnixSocket
import Vault

@testable import Broker
@testable import BrokerTestSupport
@testable import Callers

/// Programs that are known by a name of their own. What a changed program meets is in `DaemonTests`, with real
/// programs.
@Suite("Registered programs")
struct ApplicationTests {
    private static let isRoot = geteuid() == 0
    private let fixture: BrokerFixture
    private let client: TestClient
    /// A program that nobody executes.
    private let program: String

    init() throws {
        fixture = try BrokerFixture()
        client = try fixture.client()
        program = fixture.folder.path("tool")
        try Self.write("\u{7F}ELF a program", to: program)
    }

    private static func write(_ text: String, to path: String, mode: mode_t = 0o755) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        #expect(chmod(path, mode) == 0)
    }

    private static let ownProgram =
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""

    @discardableResult
    private func register(
        _ path: String? = nil, _ id: String = "com.example.tool", _ groups: [String] = ["com.example.shared"],
        adopting: Bool = false, _ answers: [ScriptedPrompter.Answer] = [.confirm]
    ) throws -> WireApplication {
        fixture.prompter.prepare(answers)
        let request = WireRegisterApplicationRequest.with {
            $0.path = path ?? program
            $0.applicationID = adopting && path == nil ? "" : id
            $0.accessGroups = adopting ? [] : groups
            $0.adopts = adopting
            $0.question = TestClient.question
        }
        guard case .applications(let list) = try client.call(.registerApplication(request)).body else {
            throw TestClient.UnexpectedAnswer()
        }
        return try #require(list.applications.first)
    }

    private func list() throws -> [WireApplication] {
        guard case .applications(let list) = try client.call(.listApplications(.init())).body else {
            throw TestClient.UnexpectedAnswer()
        }
        return list.applications
    }

    private func remove(_ id: String, _ answers: [ScriptedPrompter.Answer] = [.confirm]) throws {
        fixture.prompter.prepare(answers)
        let request = WireRemoveApplicationRequest.with { ($0.applicationID, $0.question) = (id, TestClient.question) }
        try client.call(.removeApplication(request))
    }

    private func refused(_ body: () throws -> Void) throws -> Refused? {
        do { try body() } catch let refused as Refused { return refused }
        return nil
    }

    // MARK: registering

    @Test func `the owner confirms, sees what it is about, and finds it in the list after a restart`() throws {
        let registered = try register()
        #expect(registered.path == program && registered.applicationID == "com.example.tool")
        #expect(registered.accessGroups == ["com.example.shared"] && registered.label == "advisory")
        #expect(!registered.changed && !registered.ofSystem)
        let question = try #require(fixture.prompter.asked.first)
        #expect(question.object?.string == program)
        #expect(question.operation.string.contains("com.example.tool"))
        #expect(question.operation.string.contains("com.example.shared"))
        #expect(question.isShownInFull && question.isUnproved)
        #expect(try list() == [registered])
        try fixture.restart()
        let again = try ApplicationTests(fixture, program)
        #expect(try again.list() == [registered])
        #expect(try again.client.log().map(\.event).contains("application-register"))
    }

    // MARK: several at once

    private func together(
        _ programs: [(path: String, id: String, isDoor: Bool)], _ answers: [ScriptedPrompter.Answer] = [.confirm],
        _ change: (inout WireRegisterApplicationRequest) -> Void = { _ in }
    ) throws -> [WireApplication] {
        fixture.prompter.prepare(answers)
        var request = WireRegisterApplicationRequest.with {
            ($0.path, $0.applicationID, $0.isDoor) = programs[0]
            ($0.accessGroups, $0.question) = (["com.example.shared"], TestClient.question)
            $0.others = programs.dropFirst().map { program in
                .with {
                    ($0.path, $0.applicationID, $0.isDoor) = program
                    $0.accessGroups = ["com.example.shared"]
                }
            }
        }
        change(&request)
        guard case .applications(let list) = try client.call(.registerApplication(request)).body else {
            throw TestClient.UnexpectedAnswer()
        }
        return list.applications
    }

    private func programs(_ count: Int) throws -> [(path: String, id: String, isDoor: Bool)] {
        try (0..<count).map { number in
            let path = fixture.folder.path("tool-\(number)")
            try Self.write("\u{7F}ELF \(number)", to: path)
            return (path, "com.example.tool-\(number)", number != 0)
        }
    }

    @Test func `several programs are registered with one question, which names each of them in full`() throws {
        let programs = try programs(5)
        let registered = try together(programs)
        #expect(
            registered.map(\.path) == programs.map { $0.path } && registered.map(\.isDoor) == programs.map { $0.isDoor }
        )
        #expect(try list().sorted { $0.path < $1.path } == registered)
        #expect(fixture.prompter.asked.count == 1)
        let question = try #require(fixture.prompter.asked.first)
        #expect(question.objects?.count == 5 && question.objects?.areAllNamedInFull == true && question.isShownInFull)
        let names = question.objects?.names.map(\.string) ?? []
        #expect(names.first == "\(programs[0].path) as com.example.tool-0 with the groups com.example.shared")
        #expect(names.last == "\(programs[4].path) as com.example.tool-4 with the groups com.example.shared, as a door")
        let events = try client.log().filter { $0.event == "application-register" }
        #expect(Set(events.map(\.object)) == Set(programs.map { $0.id }))
    }

    @Test func `with a passcode the one question asks for it`() throws {
        try fixture.setPasscode()
        #expect(try together(programs(3), [.text("wrong"), .text(BrokerFixture.passcode)]).count == 3)
        #expect(fixture.prompter.asked.last?.objects?.count == 3)
    }

    @Test func `whoever declines has registered none of several`() throws {
        let programs = try programs(3)
        #expect(try refused { _ = try together(programs, [.cancel]) }?.code == .userCancel)
        #expect(try list().isEmpty)
    }

    @Test func `several programs of which one cannot be registered are refused unasked`() throws {
        let programs = try programs(3)
        let missing = (fixture.folder.path("missing"), "com.example.missing", true)
        for (programs, code) in [
            (programs + [programs[1]], WireFailureCode.duplicate),
            (programs + [(programs[0].path, "com.example.other", false)], .duplicate),
            (programs + [(program, programs[0].id, false)], .duplicate),
            (programs + [(program, "com.example.shared", false)], .duplicate),
            (programs + [(program, "no name", false)], .invalidParameter),
        ] { #expect(try refused { _ = try together(programs, []) }?.code == code) }
        #expect(try refused { _ = try together(programs + [missing], []) } != nil)
        for change in [{ $0.adopts = true }, { $0.isBrowser = true }, { $0.webCredentials = ["example.com"] }]
            as [(inout WireRegisterApplicationRequest) -> Void]
        { #expect(try refused { _ = try together(programs, [], change) }?.code == .invalidParameter) }
        #expect(try refused { _ = try together(self.programs(13), []) }?.code == .invalidParameter)
        #expect(try fixture.prompter.asked.isEmpty && list().isEmpty)
        try register(programs[2].path, "com.example.former")
        #expect(try refused { _ = try together(programs, []) }?.code == .duplicate)
        #expect(try list().map(\.applicationID) == ["com.example.former"])
    }

    @Test func `leases of a program, and those through it, end when it is registered, alone or with others`() throws {
        try fixture.setPasscode()
        let rule = try AccessControl(
            availability: .whenUnlocked, confirmingEachSignatureWith: .passcode,
            leases: GrantLimits(hardSeconds: 3600))
        let right = try client.create("commits", rule)
        let programs = try programs(2)
        let unconcerned = "/usr/bin/agent"
        func grant(_ program: String, through door: String = "") throws {
            fixture.prompter.prepare([.text(BrokerFixture.passcode)])
            try client.grantLease([right.rightID]) { ($0.program, $0.through.door) = (program, door) }
        }
        func leased() throws -> Set<[String]> { try Set(client.leases().map { [$0.program, $0.through.door] }) }
        func leases(of path: String) -> Set<[String]> { [[path, ""], [unconcerned, path]] }
        for path in [program, programs[0].path, programs[1].path] {
            try grant(path)
            try grant(unconcerned, through: path)
        }
        try grant(unconcerned)
        let last: Set = [[unconcerned, ""]]
        let others = programs.reduce(last) { $0.union(leases(of: $1.path)) }
        #expect(try leased() == others.union(leases(of: program)))
        try register([.text(BrokerFixture.passcode)])
        #expect(try leased() == others)
        _ = try together(programs, [.text(BrokerFixture.passcode)])
        #expect(try leased() == last)
    }

    private init(_ fixture: BrokerFixture, _ program: String) throws {
        self.fixture = fixture
        self.program = program
        client = try fixture.client()
    }

    @Test func `the owner hears what a program leaves behind under its path, before and after`() throws {
        let own = Self.ownProgram
        try #require(!own.isEmpty)
        let open = AccessControl(availability: .whenUnlocked, using: .unrestricted)
        try client.create("right", open)
        try client.addItem(["acct": .text("a")])
        try client.addItem("cert", ["slnr": .data(Data([1]))])
        _ = try client.createKey(.p256, open)
        let stored = try client.createKey(.p256, open, awaitsItem: true)
        try client.addItem("keys", ["pdmn": .text("dk")], data: nil, keyID: stored.keyID)
        #expect(try register().leftBehind == nil, "another program's things are nobody else's")
        #expect(fixture.prompter.asked.first?.consequence == nil)
        try fixture.setPasscode()
        let answers = [ScriptedPrompter.Answer.text("wrong"), .text(BrokerFixture.passcode)]
        let registered = try register(own, "com.example.tests", [], answers)
        #expect(registered.leftBehind == .with { ($0.items, $0.rights, $0.keys) = (3, 1, 1) })
        let consequences = fixture.prompter.asked.map { $0.consequence?.string ?? "" }
        #expect(consequences.count == 2, "once more after the wrong passcode")
        for consequence in consequences {
            #expect(consequence.contains("under its path: 3 keychain items, 1 right, 1 enclave key."))
        }
        #expect(try list().allSatisfy { $0.leftBehind == nil })
        #expect(try refusal { _ = try client.page(TestClient.query()) } == .notFound)
        try remove("com.example.tests", [.text(BrokerFixture.passcode)])
        #expect(try client.page(TestClient.query()).items.count == 1, "it is seen again")
    }

    @Test func `a program that is adopted elsewhere leaves behind what was stored there, and else nothing`() throws {
        try register(nil, "com.example.tests", [])
        try Self.write("\u{7F}ELF another program", to: program)
        #expect(try register(adopting: true).leftBehind == nil)
        try client.addItem(["acct": .text("a")])
        let moved = try register(Self.ownProgram, "com.example.tests", adopting: true)
        #expect(moved.leftBehind == .with { $0.items = 1 })
        #expect(fixture.prompter.asked.first?.consequence?.string.contains("1 keychain item.") == true)
    }

    @Test func `with a passcode set it is asked for`() throws {
        try fixture.setPasscode()
        let wrong = Array(repeating: ScriptedPrompter.Answer.text("wrong"), count: 3)
        #expect(try refusal { try register(wrong) } == .authenticationFailed)
        #expect(try refusal { try register([.cancel]) } == .userCancel)
        #expect(try refusal { try register([.confirm]) } == .internal, "a confirmation is no passcode")
        #expect(try list().isEmpty)
        try register([.text(BrokerFixture.passcode)])
        #expect(fixture.prompter.askedKinds == [.enterPasscode])
        #expect(fixture.prompter.asked.map(\.isShownInFull) == [true])
        #expect(try refusal { try remove("com.example.tool", [.cancel]) } == .userCancel)
        #expect(try list().count == 1)
        try remove("com.example.tool", [.text(BrokerFixture.passcode)])
        #expect(try list().isEmpty)
    }

    private func register(_ answers: [ScriptedPrompter.Answer]) throws {
        try register(nil, "com.example.tool", [], adopting: false, answers)
    }

    @Test(arguments: [
        "", "/", "com/x", "ünicode", "a b", ".com", "-com", "unknown program", "a\n", "com.apple.token", "com.apple.",
        "com.apple.security",
        String(repeating: "a", count: 129),
    ])
    func `what is no name is refused before anybody is asked`(name: String) throws {
        #expect(try refused { try register(nil, name) }?.cause == "application.name")
        #expect(try refused { try register(nil, "com.example.tool", [name]) }?.cause == "application.name")
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test(arguments: ["com.apple", "com.applepie.cook", "org.com.apple.token"])
    func `names that only resemble Apple's are names`(name: String) {
        #expect(NameDefect(name) == nil)
    }

    @Test(arguments: [
        "awk", "mawk", "original-awk", "gawk-5.2.1", "busybox", "busybox-static", "bash5", "luajit", "luajit-2.1",
        "lua5.4", "pypy", "pypy3", "pypy3.9", "julia", "julia-1.9", "gdb", "gdb-multiarch", "php", "php8.2", "php-cgi",
        "php-cgi8.2", "php8.2-cgi", "python3.11", "python3.11-dbg", "python3-dbg", "perl5.36-x86_64-linux-gnu", "qemu",
        "qemu-x86_64", "qemu-aarch64-static", "qemu-system-x86_64", "wine64", "ld-linux-x86-64.so.2", "ld.so",
    ])
    func `what is named like an interpreter is one`(name: String) {
        #expect(CallerProgram.isInterpreter("/usr/bin/\(name)"))
    }

    @Test(arguments: [
        "ostiary", "shred", "shell-tool", "sh-tool", "javac", "node-exporter", "pythonic", "lua-language-server",
        "perldoc", "env-cgi-x", "rubygems", "qemud", "phpx86_64", "my-python3", "gdbserver", "python3-dbgx",
        "ostiary-awk",
        "",
    ])
    func `what only begins or ends like an interpreter is none`(name: String) {
        #expect(!CallerProgram.isInterpreter("/usr/bin/\(name)"))
    }

    @Test func `groups are few and different`() throws {
        let many = (0...16).map { "group\($0)" }
        for groups in [many, ["a", "a"], ["com.example.tool", "a", "com.example.tool"]] {
            #expect(try refused { try register(nil, "com.example.tool", groups) }?.cause == "application.name")
        }
        let long = (0..<4).map { String(repeating: "\($0)", count: 100) }
        #expect(try refused { try register(nil, "com.example.tool", long) }?.cause == "application.unshowable")
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `a path that does not show as it is is written out`() throws {
        let path = fixture.folder.path("to\u{200B}ol ")
        try Self.write("\u{7F}ELF a program", to: path)
        #expect(try register(path).path == path)
        let question = try #require(fixture.prompter.asked.first)
        #expect(question.object?.string == fixture.folder.path(#"to\u{200b}ol\u{20}"#))
        let warning = DisplayText("No passcode is set, so any program of yours can answer this question.")
        #expect(question.kind == .confirmation(warning: warning))
    }

    @Test func `what is no program of its own is refused before anybody is asked`() throws {
        let folder = fixture.folder
        try Self.write("#!/bin/sh\n", to: folder.path("script"))
        try Self.write("data", to: folder.path("data"), mode: 0o644)
        try FileManager.default.copyItem(atPath: program, toPath: folder.path("python3.11"))
        try FileManager.default.createSymbolicLink(atPath: folder.path("link"), withDestinationPath: program)
        let paths = [
            "", "tool", "./tool", "/", folder.path, folder.path("none"), folder.path("script"), folder.path("link"),
            folder.path("python3.11"), folder.path("x/../tool"), program + "/", "/dev/null",
        ]
        for path in paths { #expect(try refused { try register(path) }?.cause == "application.path", "\(path)") }
        if Self.isRoot { #expect(try refused { try register(folder.path("data")) }?.cause == "application.path") }
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `one program has one registration, and none takes another's name or what it keeps`() throws {
        let other = fixture.folder.path("other")
        try Self.write("another program", to: other)
        try register()
        let clashes: [(String, String, [String])] = [
            (program, "com.example.new", []), (other, "com.example.tool", []),
            (other, "com.example.new", ["com.example.tool"]), (other, "com.example.shared", []),
        ]
        for (path, id, groups) in clashes {
            #expect(try refused { try register(path, id, groups) }?.cause == "application.duplicate", "\(id) \(groups)")
        }
        #expect(fixture.prompter.asked.isEmpty)
        // Sharing a group is what groups are for.
        try register(other, "com.example.other", ["com.example.shared"])
        #expect(try list().count == 2)
    }

    @Test func `a file that is replaced while the owner is asked is not registered`() throws {
        let path = program
        fixture.prompter.prepare([.confirm])
        fixture.prompter.duringNextQuestion { try? Self.write("\u{7F}ELF another", to: path) }
        let request = WireRegisterApplicationRequest.with {
            ($0.path, $0.applicationID, $0.question) = (path, "com.example.tool", TestClient.question)
        }
        #expect(try refusal { try client.call(.registerApplication(request)) } == .programChanged)
        #expect(try list().isEmpty)
    }

    @Test func `a changed file is shown as changed until it is adopted`() throws {
        try register()
        try Self.write("\u{7F}ELF rebuilt", to: program)
        #expect(try list().map(\.changed) == [true])
        #expect(try refusal { try register(adopting: true, [.cancel]) } == .userCancel)
        #expect(try list().map(\.changed) == [true])
        let adopted = try register(adopting: true)
        #expect(!adopted.changed && adopted.accessGroups == ["com.example.shared"])
        #expect(try list() == [adopted])
        try fixture.restart()
        #expect(try ApplicationTests(fixture, program).list() == [adopted])
    }

    @Test func `adopting needs a registration, and changes nothing but the file`() throws {
        #expect(try refused { try register(adopting: true) }?.cause == "application.not-found")
        #expect(try refused { try remove("com.example.tool") }?.cause == "application.not-found")
        try register()
        let request = WireRegisterApplicationRequest.with {
            ($0.path, $0.adopts, $0.accessGroups) = (program, true, ["com.example.more"])
            $0.question = TestClient.question
        }
        fixture.prompter.prepare([])
        #expect(try refusal { try client.call(.registerApplication(request)) } == .invalidParameter)
        #expect(fixture.prompter.asked.isEmpty)
        let moved = fixture.folder.path("moved")
        try FileManager.default.moveItem(atPath: program, toPath: moved)
        #expect(try register(moved, adopting: true).path == moved)
        #expect(try list().map(\.path) == [moved])
    }

    @Test func `a row from before programs had domains, or could be browsers or doors, is read`() throws {
        try register()
        let row = try #require(
            try fixture.broker.vault.read { try $0.objects(owner: fixture.account.id, kind: .application) }.first?
                .record)
        var former = row
        // Version 1 ended behind the identity, version 2 behind the domains, version 3 behind the browser.
        for (version, left) in [(UInt8(1), 3), (2, 2), (3, 1)] {
            former.payload = row.payload.map { Data([version]) + $0.dropFirst().dropLast(left) }
            #expect(Registration(former)?.applicationID == "com.example.tool")
            #expect(Registration(former)?.webCredentials == [] && Registration(former)?.isBrowser == false)
            #expect(Registration(former)?.isDoor == false)
        }
    }

    @Test func `domains are stored, shown to the owner, and kept when the program is adopted`() throws {
        fixture.prompter.prepare([.confirm])
        let request = WireRegisterApplicationRequest.with {
            ($0.path, $0.applicationID) = (program, "com.example.tool")
            $0.webCredentials = ["example.com", "login.example.org"]
            $0.question = TestClient.question
        }
        try client.call(.registerApplication(request))
        #expect(
            fixture.prompter.asked.first?.operation.string.hasSuffix(
                "and let it make and use credentials for example.com, login.example.org") == true)
        try fixture.restart()
        let again = try fixture.client()
        guard case .applications(let list) = try again.call(.listApplications(.init())).body else {
            throw TestClient.UnexpectedAnswer()
        }
        #expect(list.applications.map(\.webCredentials) == [["example.com", "login.example.org"]])
    }

    @Test(arguments: [
        ["com"], ["Example.com"], ["example.com", "example.com"], Array(repeating: "example.com", count: 17),
    ])
    func `what is no list of domains is refused before the owner is asked`(domains: [String]) throws {
        fixture.prompter.prepare([.confirm])
        let request = WireRegisterApplicationRequest.with {
            ($0.path, $0.applicationID, $0.webCredentials) = (program, "com.example.tool", domains)
            $0.question = TestClient.question
        }
        #expect(try refusal { try client.call(.registerApplication(request)) } == .invalidParameter)
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `an altered row makes a program unregistered`() throws {
        try register()
        let vault = fixture.broker.vault
        let row = try #require(
            try vault.read { try $0.objects(owner: fixture.account.id, kind: .application) }.first?.record)
        #expect(Registration(row)?.applicationID == "com.example.tool")
        let payloads = [Data(), Data([3]), row.payload.map { $0.dropLast() }, row.payload.map { $0 + [0] }]
        for payload in payloads + [row.payload.map { $0.dropLast() + [2] }] {
            var altered = row
            altered.payload = payload
            #expect(Registration(altered) == nil)
        }
    }

    // MARK: the caller

    @Test func `a registered caller has its id and groups, and its rights of before are another program's`() throws {
        let open = AccessControl(availability: .always, using: .unrestricted)
        let before = try client.create("right", open)
        let context = try client.authorize("right")
        #expect(try client.status().caller.accessGroups == [Self.ownProgram])
        #expect(try client.status().caller.applicationID.isEmpty)
        try register(Self.ownProgram, "com.example.tests", ["com.example.b", "com.example.a"])
        let status = try client.status().caller
        #expect(status.applicationID == "com.example.tests" && status.label == "advisory")
        #expect(status.accessGroups == ["com.example.b", "com.example.a", "com.example.tests"])
        #expect(try refusal { _ = try client.find("right") } == .notFound)
        #expect(
            try refusal { _ = try client.sign(before, in: context) } == .notAuthorized, "granted under another name")
        let mine = try client.create("right", open)
        #expect(mine.application == "com.example.tests")
        let key = try client.createKey(.p256, open)
        try remove("com.example.tests")
        #expect(try client.find("right") == before)
        #expect(try refusal { _ = try client.findKey(key.keyID) } == .notFound)
        try register(Self.ownProgram, "com.example.tests", [])
        #expect(try client.find("right") == mine)
        #expect(try refusal { _ = try client.findKey(key.keyID) } == .notFound, "it was filed under the first group")
    }

    @Test(arguments: [
        ["com.example.tests"], ["com.example.tests", "com.example.a"], ["com.example.a", "com.example.tests"],
    ])
    func `an application id may be one of the program's groups, and has the place that it is given`(
        groups: [String]
    ) throws {
        let registered = try register(Self.ownProgram, "com.example.tests", groups)
        #expect(registered.accessGroups == groups)
        #expect(try client.status().caller.accessGroups == groups)
        let open = AccessControl(availability: .always, using: .unrestricted)
        let key = try client.createKey(.p256, open)
        let vault = fixture.broker.vault
        let id = try #require(VaultID(bytes: key.keyID))
        let home = try vault.read { try $0.object(id, owner: fixture.account.id) }?.attributes.group
        #expect(home == groups.first.map { ExactName($0) })
        try fixture.restart()
        let again = try ApplicationTests(fixture, program)
        #expect(try again.client.status().caller.accessGroups == groups)
        // As a group it is still nobody else's.
        let refused = try again.refused { try again.register(nil, "com.example.other", ["com.example.tests"]) }
        #expect(refused?.cause == "application.duplicate")
    }

    @Test(arguments: [
        ("", [], "application id is empty"), ("-com", [], "application id begins with"),
        (String(repeating: "a", count: 129), [], "application id is longer than 128"),
        ("com.apple.x", [], "application id begins with com.apple."), ("a b", [], "application id has a character"),
        ("a", ["b", ""], "access group 2 is empty"), ("a", ["b", "c", ".d"], "access group 3 begins with"),
        ("a", ["b", "c", "b"], "access group 3 is named twice"), ("a", ["a", "a"], "access group 2 is named twice"),
        ("a", ["com.apple.token"], "access group 1 begins with com.apple."),
        ("a", (0...16).map { "group\($0)" }, "more than 16 access groups"),
    ])
    func `the refusal of a registration says which rule was broken, and what to do`(
        id: String, groups: [String], rule: String
    ) throws {
        let refused = try #require(try refused { try register(nil, id, groups) })
        #expect(refused.cause == "application.name")
        #expect(refused.explanation.lowercased().contains(rule), "\(refused.explanation)")
        #expect(refused.explanation.contains("; ") && refused.explanation.hasSuffix("."), "\(refused.explanation)")
        for name in [id] + groups where name.count > 3 && name != "com.apple.token" && !name.hasPrefix("group") {
            #expect(!refused.explanation.contains(name), "a name of the caller's is not repeated")
        }
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test func `the refusal of a registration says which part another one has`() throws {
        let other = fixture.folder.path("other")
        try Self.write("\u{7F}ELF another program", to: other)
        try register()
        let clashes: [(String, String, [String], String)] = [
            (program, "com.example.new", [], "The program is registered already"),
            (other, "com.example.tool", [], "The application id belongs to another program"),
            (other, "com.example.new", ["a", "com.example.tool"], "Access group 2 is the application id of another"),
            (other, "com.example.shared", [], "The application id is an access group of another"),
        ]
        for (path, id, groups, rule) in clashes {
            let refused = try #require(try refused { try register(path, id, groups) })
            #expect(refused.cause == "application.duplicate")
            #expect(refused.explanation.hasPrefix(rule), "\(refused.explanation)")
            #expect(refused.explanation.contains("; "), "\(refused.explanation)")
        }
        #expect(fixture.prompter.asked.isEmpty)
    }

    @Test(arguments: [
        ("path = /usr/bin/x", "names no application-id"), ("application-id = a", "names no path"),
        ("application-id = .a\npath = /x", "line 1: The application id begins with"),
        ("application-id = a\npath = x", "line 2: The path does not begin with /"),
        ("application-id = a\npath = /x\naccess-groups = b,,c", "line 3: Access group 2 is empty"),
        ("application-id = a\npath = /x\naccess-groups = com.apple.x", "line 3: Access group 1 begins with com.apple."),
        ("application-id = a\npath = /x\naccess-groups = b, b", "line 3: Access group 2 is named twice"),
        ("application-id = a\npath = /x\ncolour = red", "line 3: the key is unknown"),
        ("application-id = a\npath = /x\npath = /y", "line 3: the key was given before"),
        ("application-id = a\nnonsense", "line 2: it is not of the form key = value"),
        ("application-id = a\npath = /usr/bin/python3.11", "the program is an interpreter"),
    ])
    func `the daemon's log says which rule a file of the administrator's breaks, and where`(
        text: String, rule: String
    ) throws {
        do {
            _ = try SystemApplications.parse(text)
            Issue.record("it was understood")
        } catch { #expect("\(error)".contains(rule), "\(error)") }
    }

    @Test func `a program chooses which of its groups a key is made in, for good`() throws {
        let open = AccessControl(availability: .always, using: .unrestricted)
        try register(Self.ownProgram, "com.example.tests", ["com.example.b", "com.example.a"])
        let groups = try ["", "com.example.b", "com.example.a", "com.example.tests"].map { group in
            let key = try client.createKey(.p256, open, group: group)
            let vault = fixture.broker.vault
            let id = try #require(VaultID(bytes: key.keyID))
            return try vault.read { try $0.object(id, owner: fixture.account.id) }?.attributes.group
        }
        #expect(groups == ["com.example.b", "com.example.b", "com.example.a", "com.example.tests"])
        let count = try client.log().count { $0.event == "key-create" && $0.result == "done" }
        for group in ["com.example.c", Self.ownProgram, "unknown program", " ", "com.example.a "] {
            #expect(try refusal { _ = try client.createKey(.p256, open, group: group) } == .missingEntitlement)
        }
        #expect(try client.log().count { $0.event == "key-create" && $0.result == "done" } == count)
        // Whoever is no longer in the group has lost the key, and gets it back with the group.
        let key = try client.createKey(.p256, open, group: "com.example.a")
        try remove("com.example.tests")
        #expect(try refusal { _ = try client.findKey(key.keyID) } == .notFound)
        #expect(try refusal { _ = try client.createKey(.p256, open, group: "com.example.a") } == .missingEntitlement)
        try register(Self.ownProgram, "com.example.other", ["com.example.a"])
        #expect(try client.findKey(key.keyID) == key)
        let context = try client.openContext()
        _ = try client.authorize(rightID: key.keyID, in: context)
        _ = try client.sign(Data(count: 32), "algid:sign:ECDSA:digest-X962:SHA256", with: key, in: context)
    }

    // MARK: the administrator's

    @Test(arguments: [
        "path = /usr/bin/x", "application-id = a", "application-id = a\npath = x", "application-id = /a\npath = /x",
        "application-id = a\npath = /x\nunknown = 1", "application-id = a\npath = /x\npath = /y", "nonsense",
        "application-id = a\npath = /x\naccess-groups = b,,c", "application-id = a\npath = /x\naccess-groups = b, b",
        "application-id = a\npath = /x\naccess-groups = a, a", "application-id = a\npath = /x\naccess-groups = b c",
        "application-id = a\npath = /x\naccess-groups =", "application-id = a\npath = /usr/bin/python3.11",
    ])
    func `a file that is not understood in full does not count`(text: String) {
        #expect(throws: (any Error).self) { try SystemApplications.parse(text) }
    }

    @Test func `a file names program, application and groups`() throws {
        let text = "# a comment\n\napplication-id = com.example.app\npath = /usr/bin/example\naccess-groups = b, a\n"
        #expect(
            try SystemApplications.parse(text)
                == Registration(
                    applicationID: "com.example.app", groups: ["b", "a"], path: "/usr/bin/example",
                    identity: .rootOwned,
                    isOfSystem: true))
        let domains = try SystemApplications.parse(text + "webcredentials = example.com, example.org\n")
        #expect(domains.webCredentials == ["example.com", "example.org"])
        for wrong in ["Example.com", "com", "example.com, example.com", "example.com,,example.org"] {
            #expect(throws: (any Error).self) { try SystemApplications.parse(text + "webcredentials = \(wrong)\n") }
        }
        #expect(try SystemApplications.parse(text + "browser = yes\n").isBrowser)
        #expect(try !SystemApplications.parse(text + "browser = no\n").isBrowser)
        #expect(try SystemApplications.parse(text + "door = yes\n").isDoor)
        #expect(try !SystemApplications.parse(text + "door = no\n").isDoor)
        #expect(try !SystemApplications.parse(text + "browser = yes\n").isDoor)
        for wrong in ["", "true", "Yes"] {
            #expect(throws: (any Error).self) { try SystemApplications.parse(text + "browser = \(wrong)\n") }
        }
        let first = text.replacing("b, a", with: "com.example.app, b")
        #expect(try SystemApplications.parse(first).groups == ["com.example.app", "b"])
    }

    @Test(.enabled(if: isRoot)) func `the administrator's registrations are listed, and nobody else changes them`()
        throws
    {
        let folder = fixture.folder.path("apps.d")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        #expect(chmod(folder, 0o755) == 0)
        let text = "application-id = com.example.system\npath = /usr/bin/openssl\n"
        try Self.write(text, to: folder + "/a.conf", mode: 0o644)
        try Self.write(text, to: folder + "/b.conf", mode: 0o644)
        try Self.write("application-id = x\npath = \(program)\n", to: folder + "/ignored.txt", mode: 0o644)
        try Self.write("application-id = x\npath = \(program)\n", to: folder + "/open.conf", mode: 0o666)
        try Self.write("application-id = user\npath = \(program)\n", to: folder + "/user.conf", mode: 0o644)
        let listed = try list()
        #expect(listed.map(\.applicationID) == ["com.example.system", "user"] && listed.allSatisfy(\.ofSystem))
        #expect(listed.map(\.changed) == [false, true], "a file that the user can replace is not what root registered")
        #expect(try refused { try remove("com.example.system") }?.cause == "application.of-system")
        #expect(try refused { try register("/usr/bin/openssl", "com.example.mine") }?.cause == "application.duplicate")
        #expect(try refused { try register("/usr/bin/openssl", adopting: true) }?.cause == "application.not-found")
        #expect(try refused { try register(adopting: true) }?.cause == "application.of-system")
        #expect(fixture.prompter.asked.isEmpty)
        #expect(chmod(folder, 0o777) == 0)
        #expect(try list().isEmpty)
    }

    // MARK: content

    @Test func `a digest follows the content, whatever is made to look the same`() throws {
        let digests = ContentDigests()
        let first = try digests.digest(of: program)
        #expect(try digests.digest(of: program) == first)
        var times = [timeval(tv_sec: 1, tv_usec: 0), timeval(tv_sec: 1, tv_usec: 0)]
        #expect(utimes(program, &times) == 0)
        #expect(try digests.digest(of: program) == first)
        // Same size, same time of change of the content, same inode.
        let file = try #require(FileHandle(forWritingAtPath: program))
        try file.write(contentsOf: Data("\u{7F}ELF b program".utf8))
        try file.close()
        #expect(utimes(program, &times) == 0)
        #expect(try digests.digest(of: program) != first)
        #expect(throws: ProgramFileError.unreadable) { try digests.digest(of: fixture.folder.path("none")) }
        #expect(throws: ProgramFileError.unreadable) { try digests.digest(of: "/dev/null") }
        #expect(throws: ProgramFileError.unreadable) { try digests.digest(of: fixture.folder.path) }
    }

    /// A file system that dates stores to mapped pages, on most machines, and one that does not.
    static let fileSystems = ["/tmp", "/dev/shm"]

    /// Makes a program in this folder, whose last change lies far enough back for its digest to be kept.
    private static func settledProgram(in folder: String) throws -> String {
        let path = folder + "/ostiary-program-\(UUID())"
        try write("\u{7F}ELF a program", to: path)
        usleep(2_100_000)
        return path
    }

    /// Maps the file for writing, as `body` sees it.
    private static func withMapping(_ path: String, _ body: (UnsafeMutablePointer<UInt8>) throws -> Void) throws {
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        try #require(descriptor >= 0)
        let mapping = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
        close(descriptor)
        defer { munmap(mapping, 4096) }
        try body(#require(mapping).assumingMemoryBound(to: UInt8.self))
    }

    @Test(arguments: fileSystems)
    func `a store through a mapping that was there before the file was read is seen`(folder: String) throws {
        let path = try Self.settledProgram(in: folder)
        defer { unlink(path) }
        let digests = ContentDigests()
        var first = Data()
        try Self.withMapping(path) { bytes in
            // This store sets the time of change, those after it do not. One of the same value would be left out by the compiler.
            bytes[1] = UInt8(ascii: "F")
            usleep(2_100_000)
            first = try digests.digest(of: path)
            bytes[5] = UInt8(ascii: "b")
        }
        #expect(try digests.digest(of: path) != first)
    }

    @Test(arguments: fileSystems)
    func `a store through a mapping that was made after the file was read is seen`(folder: String) throws {
        let path = try Self.settledProgram(in: folder)
        defer { unlink(path) }
        let digests = ContentDigests()
        let first = try digests.digest(of: path)
        try Self.withMapping(path) { bytes in
            #expect(bytes[1] == UInt8(ascii: "E"))  // A page that was read can be stored to unnoticed in tmpfs.
            bytes[5] = UInt8(ascii: "b")
        }
        #expect(try digests.digest(of: path) != first)
    }

    @Test func `a settled file that nobody writes to is read once, and one that is open for writing each time`() throws
    {
        let path = try Self.settledProgram(in: fixture.folder.path)
        let readCount = Mutex(0)
        let digests = ContentDigests(willRead: { readCount.withLock { $0 += 1 } })
        let file = try NamedFile.open(path)
        let isRemembered = ReadLease(file).end()
        let writer = try #require(FileHandle(forWritingAtPath: path))
        for _ in 0..<3 { _ = try digests.digest(of: path) }
        #expect(readCount.withLock { $0 } == 3)
        try writer.close()
        for _ in 0..<3 { _ = try digests.digest(of: path) }
        #expect(readCount.withLock { $0 } == (isRemembered ? 4 : 6))
    }

    @Test func `threads that ask for a file at once get its digest, and read it once for all`() throws {
        let readCount = Mutex(0)
        let (begun, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let digests = ContentDigests(willRead: {
            guard
                readCount.withLock({
                    $0 += 1; return $0
                }) == 1
            else { return }
            begun.signal()
            mayEnd.wait()
        })
        let expected = try ContentDigests().digest(of: program)
        let (path, done) = (program, DispatchGroup())
        let found = Mutex<[Result<Data, any Error>]>([])
        for thread in 0...16 {
            done.enter()
            Thread.detachNewThread {
                let result = Result { try digests.digest(of: path) }
                found.withLock { $0.append(result) }
                done.leave()
            }
            if thread == 0 { begun.wait() }
        }
        while digests.waitingCount(at: path) < 16 { usleep(1_000) }
        mayEnd.signal()
        done.wait()
        let results = found.withLock { $0 }
        #expect(results.count == 17 && results.allSatisfy { (try? $0.get()) == expected }, "\(results)")
        #expect(readCount.withLock { $0 } == 2)
    }

    @Test func `a file that changes while it is read is read again, and refused when it goes on`() throws {
        let path = program
        let changeCount = Mutex(1)
        let digests = ContentDigests(willRead: {
            guard
                changeCount.withLock({
                    $0 -= 1; return $0
                }) >= 0
            else { return }
            // A new link, as a backup makes, changes the stamp and not the content.
            let copy = path + ".\(UUID())"
            #expect(link(path, copy) == 0)
        })
        #expect(try digests.digest(of: path) == ContentDigests().digest(of: path))
        changeCount.withLock { $0 = 100 }
        #expect(throws: ProgramFileError.changing) { try digests.digest(of: path) }
        #expect(ProgramStanding(.changing).refusal(of: path)?.cause == "program.changing")
        #expect(ProgramStanding(.unreadable).refusal(of: path)?.cause == "program.unreadable")
        #expect(ProgramStanding.changed.refusal(of: path)?.cause == "program.changed")
    }

    @Test func `the store's own files are not read under any name, and others are although they are open`() throws {
        let digests = ContentDigests()
        let database = fixture.stateDirectory + "/vault.sqlite"
        let name = fixture.folder.path("innocent")
        for file in [database, database + "-shm"] {
            #expect(throws: ProgramFileError.unreadable, "\(file)") { try digests.digest(of: file) }
            #expect(link(file, name) == 0)
            #expect(throws: ProgramFileError.unreadable, "\(file)") { try digests.digest(of: name) }
            #expect(unlink(name) == 0)
        }
        // A descriptor that a program passed, or that another thread reads from, is no reason to refuse the file.
        let open = try #require(FileHandle(forReadingAtPath: program))
        defer { try? open.close() }
        #expect(try digests.digest(of: program).count == 32)
    }

    @Test func `a guarded file that was deleted keeps its number, so no other file is refused in its place`() throws {
        let path = fixture.folder.path("guarded")
        try Self.write("locked", to: path)
        let guarded = try GuardedFile(path: path)
        #expect(throws: ProgramFileError.unreadable) { try ContentDigests().digest(of: path) }
        #expect(unlink(path) == 0)
        try withExtendedLifetime(guarded) {
            for number in 0..<64 {
                let other = "\(path).\(number)"
                try Self.write("a program", to: other)
                #expect(try ContentDigests().digest(of: other).count == 32)
            }
        }
    }

    @Test func `only what root alone can replace is known by its path`() {
        #expect(!ProgramFile.isReplaceableByRootAlone(program), "anybody may make files beside it")
        #expect(!ProgramFile.isReplaceableByRootAlone("/usr/bin/no-such-program"))
        #expect(ProgramFile.isReplaceableByRootAlone("/usr/bin/openssl"))
    }

    @Test(.enabled(if: isRoot, "only root can make a folder of root"))
    func `a folder that others can write to counts also before a name that joins the slash`() throws {
        let home = try TestFolder(in: String(cString: try #require(getpwuid(0)).pointee.pw_dir))
        let folder = home.path("open") + "/\u{301}bin"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: "/usr/bin/true", toPath: folder + "/tool")
        for path in [home.path, home.path("open"), folder] { #expect(chmod(path, 0o755) == 0) }
        #expect(ProgramFile.isReplaceableByRootAlone(folder + "/tool"))
        #expect(chmod(home.path("open"), 0o777) == 0)
        #expect(!ProgramFile.isReplaceableByRootAlone(folder + "/tool"))
    }
}
