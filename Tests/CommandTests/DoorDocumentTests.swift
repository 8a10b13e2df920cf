import AccessControl
import DoorSupport
import Foundation
import Glibc
import Testing

@testable import OstiaryClient
@testable import ostiary

/// What `ostiary doors` says of doors that lie in a folder of the test.
@Suite("Doors as they are listed")
final class DoorDocumentTests {
    private let folder: String
    private let helper = DoorProgram.credentialHelper
    private var path: String { "\(folder)/\(helper.name)" }

    init() throws {
        folder = FileManager.default.temporaryDirectory.path + "/ostiary-doors-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func install(links: [String]) throws {
        #expect(FileManager.default.createFile(atPath: path, contents: Data(), attributes: [.posixPermissions: 0o755]))
        for link in links { #expect(symlink(helper.name, "\(folder)/\(link)") == 0) }
    }

    private func registered(
        _ path: String, groups: [String] = ["ostiary.doors"], isDoor: Bool = true, isChanged: Bool = false,
        isUnverified: Bool = false
    ) -> RegisteredApplication {
        RegisteredApplication(
            path: path, applicationID: helper.applicationID, accessGroups: groups, isDoor: isDoor, label: "advisory",
            isChanged: isChanged, isUnverified: isUnverified, isOfSystem: false)
    }

    @Test func `the doctor finds what the command stored before a package registered it`() throws {
        let path = "/usr/bin/ostiary"
        func command(isOfSystem: Bool) -> RegisteredApplication {
            RegisteredApplication(
                path: path, applicationID: "org.ostiary.command", accessGroups: ["org.ostiary.command"],
                label: "registered", isChanged: false, isOfSystem: isOfSystem)
        }
        func right(_ application: String) throws -> ListedRight {
            .intact(
                StoredRight(
                    id: Data(0..<16), identifier: "2fa",
                    accessControl: AccessControl(
                        availability: .whenUnlocked, using: try Requirement(anyOf: [.passcode])),
                    publicKey: Data(), hasSecret: false, createdAt: Date(), enclaveKind: "software",
                    application: application, sshConstraints: nil))
        }
        let others = [try right("org.ostiary.command"), try right("/usr/bin/ostiary2")]
        #expect(FormerObjects(ofProgramAt: path, [command(isOfSystem: true)], others, []) == nil)
        let rights = others + [try right(path), try right(path)]
        // The owner's own registration said it at the question.
        #expect(FormerObjects(ofProgramAt: path, [command(isOfSystem: false)], rights, []) == nil)
        #expect(FormerObjects(ofProgramAt: path, [], rights, []) == nil)
        let finding = try #require(FormerObjects(ofProgramAt: path, [command(isOfSystem: true)], rights, [])).finding
        #expect(finding.verdict == .notice)
        #expect(finding.message.hasPrefix("2 rights of this command lie under its path /usr/bin/ostiary,"))
        #expect(finding.message.contains("org.ostiary.command") && finding.advice.contains("/etc/ostiary/apps.d"))
    }

    private func document(
        _ program: DoorProgram? = nil, _ applications: [RegisteredApplication] = []
    ) -> DoorListDocument {
        DoorListDocument([InstalledDoor(program ?? helper, in: [folder])], applications, sockets: folder)
    }

    @Test func `a door that is not installed is no problem, until it is registered`() throws {
        let absent = document()
        #expect(!absent.hasProblem && absent.doors[0].problems.isEmpty && absent.doors[0].path == nil)
        #expect(absent.text().contains("not installed") && absent.finding == nil)
        let gone = document(nil, [registered("/gone")])
        #expect(gone.hasProblem && gone.doors[0].problems.count == 1)
        #expect(gone.finding?.verdict == .problem)
    }

    @Test func `a door that is not registered is said so, and is no problem of the doctor's`() throws {
        try install(links: helper.otherNames)
        let list = document()
        #expect(list.doors[0].problems == ["It is not registered. Run `ostiary doors register`."])
        #expect(!list.hasProblem && list.finding == nil)
    }

    @Test func `a door that is as it should be has no problem`() throws {
        try install(links: helper.otherNames)
        let list = document(nil, [registered(path)])
        #expect(!list.hasProblem && list.doors[0].problems.isEmpty && list.doors[0].socket == nil)
        #expect(list.finding?.verdict == .ok && list.finding?.message.contains(helper.name) == true)
    }

    @Test func `each defect of a registration is said with its remedy`() throws {
        try install(links: helper.otherNames)
        for (application, words) in [
            (registered("/elsewhere"), "ostiary app adopt \(path) --id org.ostiary.credential-helper"),
            (registered(path, isChanged: true), "ostiary app adopt \(path)`"),
            (registered(path, isUnverified: true), "cannot be compared"),
            (registered(path, isDoor: false), "not as a door"),
            (registered(path, groups: ["other"]), "not in the group ostiary.doors"),
        ] {
            let list = document(nil, [application])
            #expect(list.hasProblem && list.doors[0].problems.count == 1, "\(words)")
            #expect(list.doors[0].problems[0].contains(words), "\(list.doors[0].problems)")
        }
    }

    @Test func `a link that is missing or leads elsewhere is a problem`() throws {
        try install(links: ["git-credential-ostiary"])
        #expect(symlink("/usr/bin/true", "\(folder)/docker-credential-ostiary") == 0)
        let elsewhere = document(nil, [registered(path)])
        #expect(elsewhere.doors[0].problems.count == 1)
        #expect(elsewhere.doors[0].problems[0].hasPrefix("docker-credential-ostiary leads to "))
        unlink("\(folder)/docker-credential-ostiary")
        let missing = document(nil, [registered(path)])
        #expect(
            missing.doors[0].problems == [
                "docker-credential-ostiary is missing. Link it to \(path) in a folder of PATH."
            ])
    }

    @Test func `a file in a socket's place is a problem`() throws {
        let agent = DoorProgram.sshAgent
        let agentPath = "\(folder)/\(agent.name)"
        let sockets = "\(folder)/ssh-agent.sock"
        for file in [agentPath, sockets] {
            #expect(
                FileManager.default.createFile(atPath: file, contents: Data(), attributes: [.posixPermissions: 0o755]))
        }
        let application = RegisteredApplication(
            path: agentPath, applicationID: agent.applicationID, accessGroups: ["ostiary.doors"], isDoor: true,
            label: "advisory", isChanged: false, isOfSystem: false)
        let list = document(agent, [application])
        #expect(list.doors[0].socketState == .foreign && list.doors[0].socket == sockets)
        #expect(list.doors[0].problems == ["\(sockets) is no socket of yours. Look at it, and remove it."])
        unlink(sockets)
        #expect(document(agent, [application]).doors[0].socketState == .missing)
        #expect(!document(agent, [application]).hasProblem, "a socket that nobody serves yet is none")
    }

    @Test func `the command keeps its own group first`() throws {
        let command = InstalledDoor(.command, in: ["/usr/bin"])
        #expect(DoorProgram.command.accessGroups == ["org.ostiary.command", "ostiary.doors"])
        #expect(DoorProgram.sshAgent.accessGroups == ["ostiary.doors"])
        #expect(command.registration == nil || command.registration?.isDoor == false)
    }

    /// The package's files and the command name the same programs.
    @Test func `the administrator's folder of the package says the same`() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
        for program in DoorProgram.all {
            let file = root.appendingPathComponent("packaging/system/apps.d/\(program.name).conf")
            let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init)
            #expect(lines.contains("application-id = \(program.applicationID)"))
            #expect(lines.contains { $0.hasPrefix("path = /usr/") && $0.hasSuffix("/\(program.name)") })
            #expect(lines.contains("access-groups = \(program.accessGroups.joined(separator: ", "))"))
            #expect(lines.contains("door = yes") == program.isDoor)
        }
    }
}
