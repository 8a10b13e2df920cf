import AgePlugin
import DaemonTestSupport
import Foundation
import Testing

/// Debian's `age` with `age-plugin-ostiary` and a real daemon.
@Suite("age, end to end", .serialized) struct AgeEndToEndTests {
    private let daemon: PrivateDaemon
    private let plugin: ProgramCopy

    init() throws {
        daemon = try PrivateDaemon(.withPasscode)
        try daemon.unlock()
        plugin = try ProgramCopy(of: "age-plugin-ostiary", as: "age-plugin-ostiary", in: daemon)
        try ostiary(
            "app", "register", plugin.url.path, "--id", "org.ostiary.age-plugin", "--door", "--group", "ostiary.doors",
            answers: [PrivateDaemon.passcode])
    }

    // MARK: the person's side

    private func ostiary(_ arguments: String..., answers: [String] = []) throws {
        let run = try PlayedTerminal(BuiltProgram.named("ostiary"), arguments, answers: answers, in: daemon)
        try #require(run.status == 0, "ostiary \(arguments): \(run.screen)")
    }

    /// Runs a line of the shell on a terminal, in the daemon's folder. The plugin is on its path.
    @discardableResult
    private func shell(_ line: String, answers: [String] = []) throws -> PlayedTerminal {
        try PlayedTerminal(URL(fileURLWithPath: "/bin/sh"), ["-c", Self.path + line], answers: answers, in: daemon)
    }

    /// The same where nobody can be asked.
    private func unattended(_ line: String) throws -> UnattendedRun {
        try UnattendedRun(URL(fileURLWithPath: "/bin/sh"), ["-c", Self.path + line], in: daemon)
    }

    private static let path = "PATH=\"$PWD:$PATH\"; export PATH; "

    private func generate(_ name: String, _ options: String = "--require passcode") throws {
        let made = try shell("age-plugin-ostiary --generate --name \(name) \(options) > \(name).txt")
        try #require(made.status == 0, "\(made.screen)")
    }

    /// The recipient for an age that does not know tagged ones.
    private func recipient(of name: String) throws -> String {
        let lines = try content("\(name).txt").split(separator: "\n").map(String.init)
        let line = try #require(lines.first { $0.contains("before 1.3: ") })
        return String(line.split(separator: " ").last ?? "")
    }

    private func encrypt(_ text: String, to name: String, as file: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: daemon.path("plain")))
        let encrypted = try shell("age -r \(recipient(of: name)) -o \(file) plain")
        try #require(encrypted.status == 0, "\(encrypted.screen)")
    }

    private func content(_ file: String) throws -> String {
        try String(contentsOf: URL(fileURLWithPath: daemon.path(file)), encoding: .utf8)
    }

    private func exists(_ file: String) -> Bool { FileManager.default.fileExists(atPath: daemon.path(file)) }

    private func questionCount(_ run: PlayedTerminal) -> Int {
        run.screen.components(separatedBy: "Passcode: ").count - 1
    }

    // MARK: round trips

    @Test(arguments: ["--require passcode", "--require passcode --post-quantum"])
    func `a file comes back after one question, which names age, the key and the door`(options: String) throws {
        try generate("backup", options)
        try encrypt("some notes", to: "backup", as: "notes.age")
        #expect(try !content("backup.txt").contains("AGE-SECRET-KEY"))
        let decrypted = try shell("age -d -i backup.txt -o out notes.age", answers: [PrivateDaemon.passcode])
        #expect(decrypted.status == 0, "\(decrypted.screen)")
        #expect(try content("out") == "some notes")
        #expect(questionCount(decrypted) == 1, "\(decrypted.screen)")
        #expect(decrypted.shows("Program /usr/bin/age (process"), "\(decrypted.screen)")
        #expect(decrypted.shows("Through \(plugin.url.path)"), "\(decrypted.screen)")
        #expect(decrypted.shows("backup") && decrypted.shows("decrypt a file"), "\(decrypted.screen)")
    }

    @Test func `age encrypts to an identity, and one that asks nobody decrypts unattended`() throws {
        try generate("open", "--require unrestricted")
        try Data("x".utf8).write(to: URL(fileURLWithPath: daemon.path("plain")))
        let encrypted = try unattended("age -e -i open.txt -o f.age plain")
        #expect(encrypted.status == 0, "\(encrypted.output)")
        let decrypted = try unattended("age -d -i open.txt f.age")
        #expect(decrypted.status == 0 && decrypted.output == "x", "\(decrypted.output)")
    }

    @Test func `a locked store opens with the question`() throws {
        try generate("backup")
        try encrypt("notes", to: "backup", as: "f.age")
        try ostiary("lock")
        let decrypted = try shell("age -d -i backup.txt -o out f.age", answers: [PrivateDaemon.passcode])
        #expect(try decrypted.status == 0 && content("out") == "notes", "\(decrypted.screen)")
        #expect(questionCount(decrypted) == 1)
    }

    // MARK: ten files

    /// Ten files of one session of the protocol, which age's own command does not begin.
    @Test(arguments: ["--require passcode", "--require passcode --post-quantum"])
    func `ten files of one session are one question`(options: String) throws {
        try generate("backup", options)
        var session = "-> add-identity \(try identity(in: "backup.txt"))\n\n"
        for index in 0..<10 {
            try encrypt("file \(index)", to: "backup", as: "\(index).age")
            session += try stanza(of: "\(index).age", index)
        }
        session += "-> done\n\n" + String(repeating: "-> ok\n\n", count: 10)
        try Data(session.utf8).write(to: URL(fileURLWithPath: daemon.path("session")))
        let run = try shell(
            "age-plugin-ostiary --age-plugin=identity-v1 < session > answers", answers: [PrivateDaemon.passcode])
        #expect(run.status == 0 && questionCount(run) == 1, "\(run.screen)")
        #expect(run.shows("decrypt 10 files"), "\(run.screen)")
        let answers = try content("answers")
        #expect(answers.components(separatedBy: "-> file-key ").count == 11 && answers.hasSuffix("-> done\n\n"))
        #expect(!answers.contains("-> error"))
    }

    private func identity(in file: String) throws -> String {
        try #require(content(file).split(separator: "\n").map(String.init).first { $0.hasPrefix("AGE-PLUGIN-") })
    }

    /// The plugin's stanza in the header of a file, as age hands it on.
    private func stanza(of file: String, _ index: Int) throws -> String {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: daemon.path(file)))
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        let place = try #require(lines.firstIndex { $0.contains("p256tag ") })
        return lines[place].replacing("-> ", with: "-> recipient-stanza \(index) ", maxReplacements: 1) + "\n"
            + lines[place + 1] + "\n"
    }

    @Test func `ten runs of age are ten questions, because each is a program of its own`() throws {
        try generate("backup")
        try encrypt("notes", to: "backup", as: "f.age")
        let run = try shell(
            "for i in 0 1 2 3 4 5 6 7 8 9; do age -d -i backup.txt -o $i f.age || exit 1; done",
            answers: [String](repeating: PrivateDaemon.passcode, count: 10))
        #expect(run.status == 0 && questionCount(run) == 10, "\(run.screen)")
        #expect(try (0..<10).allSatisfy { try content("\($0)") == "notes" })
    }

    @Test func `ten runs of age are one question where the person permits more than one use`() throws {
        try generate("backup")
        try encrypt("notes", to: "backup", as: "f.age")
        // Ctrl-L: for 10 minutes. A second question would find nobody.
        let run = try shell(
            "for i in 0 1 2 3 4 5 6 7 8 9; do age -d -i backup.txt -o $i f.age || exit 1; done",
            answers: ["\u{c}" + PrivateDaemon.passcode])
        #expect(run.status == 0, "\(run.screen)")
        #expect(try (0..<10).allSatisfy { try content("\($0)") == "notes" })
        // It is for age and this key alone.
        try generate("other")
        try encrypt("notes", to: "other", as: "g.age")
        #expect(try unattended("age -d -i other.txt g.age").status != 0)
        try ostiary("lock")
        #expect(try unattended("age -d -i backup.txt f.age").status != 0, "the lock has ended it")
    }

    // MARK: refusals

    @Test func `a cancelled question is one question, and decrypts nothing`() throws {
        try generate("backup")
        try encrypt("notes", to: "backup", as: "f.age")
        let refused = try shell("age -d -i backup.txt -o out f.age", answers: ["\u{3}"])
        #expect(refused.status != 0 && questionCount(refused) == 1, "\(refused.screen)")
        #expect(refused.shows("ostiary plugin"), "age says who refused: \(refused.screen)")
        #expect(!exists("out"))
    }

    @Test func `where nobody can be asked, age hears that`() throws {
        try generate("backup")
        try encrypt("notes", to: "backup", as: "f.age")
        let refused = try unattended("age -d -i backup.txt -o out f.age")
        #expect(refused.status != 0 && refused.output.contains("ostiary plugin"), "\(refused.output)")
        #expect(!exists("out"))
    }

    @Test func `nobody is asked for a file of another key`() throws {
        try generate("backup")
        try generate("other")
        try encrypt("notes", to: "other", as: "f.age")
        let refused = try unattended("age -d -i backup.txt -o out f.age")
        #expect(refused.status != 0 && refused.output.contains("no identity matched"), "\(refused.output)")
    }

    @Test func `an identity whose key was removed says so, unasked`() throws {
        try generate("backup")
        try encrypt("notes", to: "backup", as: "f.age")
        let id = try #require(keyIDs().first)
        try ostiary("key", "remove", "--id", id, answers: [PrivateDaemon.passcode])
        let refused = try unattended("age -d -i backup.txt -o out f.age")
        #expect(refused.status != 0 && refused.output.contains("it was removed"), "\(refused.output)")
    }

    @Test func `an identity that says another point than its key has is refused unasked`() throws {
        try generate("backup")
        try generate("other")
        try encrypt("notes", to: "backup", as: "f.age")
        let (backup, other) = try (AgeIdentity(identity(in: "backup.txt")), AgeIdentity(identity(in: "other.txt")))
        let changed = AgeIdentity(curveKey: other.curveKey, point: backup.point)
        try Data(changed.text.utf8).write(to: URL(fileURLWithPath: daemon.path("changed.txt")))
        let refused = try shell("age -d -i changed.txt -o out f.age")
        #expect(refused.status != 0 && questionCount(refused) == 0, "\(refused.screen)")
        #expect(refused.shows("it was changed") && !exists("out"), "\(refused.screen)")
    }

    private func keyIDs() throws -> [String] {
        struct List: Decodable { let keys: [Key] }
        struct Key: Decodable { let keys: [String] }
        let list = try unattended("age-plugin-ostiary --list --json")
        return try JSONDecoder().decode(List.self, from: Data(list.output.utf8)).keys.flatMap(\.keys)
    }

    @Test func `a plugin that is not registered as a door is told so by its words`() throws {
        try generate("backup")
        try encrypt("notes", to: "backup", as: "f.age")
        try ostiary("app", "remove", "org.ostiary.age-plugin", answers: [PrivateDaemon.passcode])
        let refused = try shell("age -d -i backup.txt -o out f.age")
        #expect(refused.status != 0 && questionCount(refused) == 0, "\(refused.screen)")
        #expect(refused.shows("ostiary plugin") && !exists("out"), "\(refused.screen)")
    }

    // MARK: making and listing

    @Test func `keys are listed by name, and a name is taken once`() throws {
        try generate("second")
        try generate("first", "--require unrestricted --post-quantum")
        let again = try shell("age-plugin-ostiary --generate --name first --require unrestricted")
        #expect(again.status == 1 && again.shows("There is a key of this name already"), "\(again.screen)")
        let list = try unattended("age-plugin-ostiary --list")
        let lines = list.output.split(separator: "\n")
        try #require(list.status == 0 && lines.count == 4, "\(list.output)")
        #expect(lines[0].hasPrefix("# first") && lines[1].hasPrefix("age1tagpq1"))
        #expect(lines[2] == "# second, requires passcode" && lines[3].hasPrefix("age1tag1"))
        let older = try unattended("age-plugin-ostiary --list --name second --older-age")
        #expect(try older.output.contains(recipient(of: "second")))
        #expect(try unattended("age-plugin-ostiary --identity --name second").output == content("second.txt"))
        #expect(try unattended("age-plugin-ostiary --list --name third").status == 1)
    }

    @Test(arguments: [
        "", "--generate --list", "--list --require passcode", "--generate --older-age", "--generate --name ''",
    ])
    func `options that make no sense together are wrong usage`(options: String) throws {
        #expect(try unattended("age-plugin-ostiary \(options)").status == 64)
    }

    @Test func `a protocol that is not known is refused`() throws {
        let refused = try unattended("age-plugin-ostiary --age-plugin=identity-v9")
        #expect(refused.status == 1 && refused.output.contains("does not know"), "\(refused.output)")
    }
}
