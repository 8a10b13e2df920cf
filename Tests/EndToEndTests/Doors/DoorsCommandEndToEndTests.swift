import DaemonTestSupport
import Foundation
import Testing

/// `ostiary doors` against the real daemon: a copy of the command, with a copy of a door beside it.
@Suite("ostiary doors, end to end", .serialized, .timeLimit(.minutes(10)))
struct DoorsCommandEndToEndTests {
    private let daemon: PrivateDaemon
    private let command: ProgramCopy
    private let helper: ProgramCopy

    init() throws {
        daemon = try PrivateDaemon()
        command = try ProgramCopy(of: "ostiary", as: "ostiary", in: daemon)
        helper = try ProgramCopy(of: "ostiary-credential-helper", as: "ostiary-credential-helper", in: daemon)
        for name in ["git-credential-ostiary", "docker-credential-ostiary"] {
            try FileManager.default.createSymbolicLink(
                atPath: daemon.path(name), withDestinationPath: "ostiary-credential-helper")
        }
    }

    private func doors(_ arguments: String..., answers: [String] = []) throws -> PlayedTerminal {
        try PlayedTerminal(command.url, ["doors"] + arguments, answers: answers, in: daemon)
    }

    private func listed() throws -> [String: [String: Any]] {
        let run = try UnattendedRun(command.url, ["doors", "list", "--json"], in: daemon)
        let object = try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any]
        let list = try #require(object?["doors"] as? [[String: Any]], "\(run.output)")
        return Dictionary(uniqueKeysWithValues: list.map { ($0["name"] as? String ?? "", $0) })
    }

    @Test func `one question registers all that are installed, and names each`() throws {
        let before = try listed()
        #expect(before["ostiary-credential-helper"]?["registered"] as? Bool == false)
        #expect(before["ostiary-credential-helper"]?["path"] as? String == helper.url.path)
        let registered = try doors("register", answers: ["yes"])
        #expect(registered.status == 0, "\(registered.screen)")
        #expect(registered.screen.components(separatedBy: "Ostiary asks you to confirm.").count == 2, "one question")
        for text in [
            "\(helper.url.path) as org.ostiary.credential-helper with the groups ostiary.doors, as a door",
            "\(command.url.path) as org.ostiary.command with the groups org.ostiary.command, ostiary.doors",
        ] { #expect(registered.shows(text), "\(registered.screen)") }
        let after = try listed()
        #expect(after["ostiary-credential-helper"]?["registered"] as? Bool == true)
        #expect(after["ostiary-credential-helper"]?["problems"] as? [String] == [])
        #expect(after["ostiary"]?["accessGroups"] as? [String] == ["org.ostiary.command", "ostiary.doors"])
        let again = try doors("register")
        #expect(again.status == 0 && again.shows("Every installed door is registered already."), "\(again.screen)")
        #expect(try doors("list").status == 0)
        #expect(try UnattendedRun(command.url, ["doctor"], in: daemon).output.contains("doors: Registered are "))
    }

    @Test func `whoever declines has registered nothing`() throws {
        #expect(try doors("register", answers: ["no"]).status == 3)
        #expect(try listed().values.allSatisfy { $0["registered"] as? Bool == false })
    }

    @Test func `a door that was rebuilt, and a link that leads elsewhere, are said with a remedy`() throws {
        #expect(try doors("register", answers: ["yes"]).status == 0)
        try helper.rebuild()
        try FileManager.default.removeItem(atPath: daemon.path("git-credential-ostiary"))
        try FileManager.default.createSymbolicLink(
            atPath: daemon.path("git-credential-ostiary"), withDestinationPath: "/usr/bin/true")
        let list = try doors("list")
        #expect(list.status == 1)
        #expect(list.shows("Run `ostiary app adopt \(helper.url.path)`."), "\(list.screen)")
        #expect(list.shows("git-credential-ostiary leads to /usr/bin/true."), "\(list.screen)")
        let doctor = try UnattendedRun(command.url, ["doctor"], in: daemon)
        #expect(doctor.status == 1 && doctor.output.contains("PROBLEM  doors: "))
    }
}
