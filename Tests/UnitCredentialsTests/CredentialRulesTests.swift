import CommandFailures
import DoorSupport
import Foundation
import OstiaryClient
import Testing

@testable import UnitCredentials

/// The file says which unit gets which item, and one wrong line ends it for all.
@Suite("Rules for units", .timeLimit(.minutes(10)))
struct CredentialRulesTests {
    private static let unusable = -193

    private func rules(_ text: String) throws -> CredentialRules {
        try CredentialRules(parsing: Array(text.utf8), path: "rules")
    }

    private func refusal(_ body: () throws -> Void) -> DoorFailure? {
        do { try body() } catch let failure as DoorFailure { return failure } catch { Issue.record(error) }
        return nil
    }

    private func request(_ unit: String, _ credential: String) throws -> UnitRequest {
        try UnitRequest(unit: unit, credential: credential)
    }

    @Test func `a rule gives one unit one item under one name`() throws {
        let rules = try rules(
            "# comment\n\n  backup.service\tkey =  bot@backup \nweb.service tls = server=example.com,account=tls\n")
        #expect(rules.count == 2)
        #expect(try rules.item(for: request("backup.service", "key")) == #require(ItemReference("bot@backup")))
        #expect(try rules.item(for: request("web.service", "tls")).selection.itemClass == "inet")
    }

    @Test(
        arguments: [
            ("web.service", "key"), ("backup.service", "tls"), ("backup.service", "KEY"), ("Backup.service", "key"),
            ("backup@1.service", "key"), ("backup.socket", "key"),
        ])
    func `another unit or another name gets nothing`(unit: String, credential: String) throws {
        let rules = try rules("backup.service key = backup\nweb.service tls = web\n")
        let failure = refusal { _ = try rules.item(for: request(unit, credential)) }
        #expect(failure?.code == -191 && failure?.failureClass.name == "noRule")
    }

    @Test(
        arguments: [
            "backup.service key", "backup.service = backup", "backup.service key more = backup", "key = backup",
            "= backup",
            "backup.service key =", "backup.service key = @", "backup key = backup", "*.service key = backup",
            "backup@.timer key = backup", "backup.service ../key = backup", "backup.service k/y = backup",
            "backup.service key = backup\r", "backup.service key = ba\u{7}ckup", "backup.service key = ba\u{0}ckup",
            "backup.service\u{a0}key = backup", "[backup.service]", "\u{feff}backup.service key = backup", "; comment",
            "backup.service key = backup\nbackup.service key = other",
            "good.service key = good\nwrong",
        ]) func `one wrong line, and nobody gets anything`(text: String)
    {
        let failure = refusal { _ = try rules(text) }
        #expect(failure?.code == Self.unusable)
        #expect(failure?.explanation.contains("rules, line ") == true)
    }

    @Test func `the line that is wrong is said`() {
        #expect(refusal { _ = try rules("a.service k = i\n\n# c\nwrong\n") }?.explanation.contains("line 4") == true)
    }

    @Test func `text that is not UTF-8, and a file that is too long, are refused`() throws {
        #expect(refusal { _ = try CredentialRules(parsing: [0xff, 0x0a], path: "rules") }?.code == Self.unusable)
        let comment = "#" + String(repeating: "x", count: 64 * 1024 - 1)
        #expect(try rules(comment).count == 0)
        #expect(refusal { _ = try rules(comment + "x") }?.code == Self.unusable)
    }

    // MARK: the file

    private final class Folder {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("ostiary-rules-\(UUID().uuidString)")
        init() throws {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
        }
        deinit { try? FileManager.default.removeItem(at: url) }

        func file(mode: Int) throws -> String {
            let path = url.appendingPathComponent("rules").path
            try Data("a.service k = i\n".utf8).write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            return path
        }
    }

    @Test(arguments: [0o600, 0o644, 0o400]) func `a file that its owner alone writes is read`(mode: Int) throws {
        let folder = try Folder()
        #expect(try CredentialRules(at: folder.file(mode: mode)).count == 1)
    }

    @Test(arguments: [0o620, 0o602, 0o666]) func `a file that others can write is refused`(mode: Int) throws {
        let folder = try Folder()
        let path = try folder.file(mode: mode)
        #expect(refusal { _ = try CredentialRules(at: path) }?.code == Self.unusable)
    }

    @Test func `absent, unreadable, and no file at all are told apart`() throws {
        let folder = try Folder()
        #expect(refusal { _ = try CredentialRules(at: folder.url.path + "/none") }?.code == -192)
        #expect(refusal { _ = try CredentialRules(at: folder.url.path) }?.code == Self.unusable)
        let pipe = folder.url.path + "/pipe"
        try #require(mkfifo(pipe, 0o600) == 0)
        #expect(refusal { _ = try CredentialRules(at: pipe) }?.code == Self.unusable)
        let link = folder.url.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: link)
        #expect(refusal { _ = try CredentialRules(at: link) }?.code == Self.unusable)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a file away")) func `a file of another user is refused`()
        throws
    {
        let folder = try Folder()
        let path = try folder.file(mode: 0o644)
        try #require(chown(path, 65534, 65534) == 0)
        #expect(refusal { _ = try CredentialRules(at: path) }?.code == Self.unusable)
    }
}
