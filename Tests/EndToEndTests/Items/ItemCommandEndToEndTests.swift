import DaemonTestSupport
import Foundation
import Testing

/// The command's items and keys on a terminal against the real daemon.
@Suite("Items and keys of the command, end to end", .serialized)
struct ItemCommandEndToEndTests {
    static let passcode = "correct horse 9"
    private let daemon: PrivateDaemon

    init() throws { daemon = try PrivateDaemon() }

    private func ostiary(_ arguments: String..., answers: [String] = []) throws -> PlayedTerminal {
        try PlayedTerminal(BuiltProgram.ofThisPackage("ostiary"), arguments, answers: answers, in: daemon)
    }

    private func setPasscode() throws {
        let set = try ostiary("passcode", "set", answers: [Self.passcode, Self.passcode])
        try #require(set.status == 0, "\(set.screen)")
    }

    private func content(_ name: String) -> String? { try? String(contentsOfFile: daemon.path(name), encoding: .utf8) }

    @Test func `an item is added from a file, found, changed and deleted`() throws {
        try Data("first".utf8).write(to: daemon.folder.appendingPathComponent("in"))
        #expect(try ostiary("item", "add", "--service", "s", "--account", "a", "--secret", "in").status == 0)
        #expect(try ostiary("item", "add", "--service", "s", "--account", "a", "--secret", "in").status == 1)
        #expect(try ostiary("item", "find", "--service", "s", "--output", "out").status == 0)
        #expect(content("out") == "first")
        try Data("second".utf8).write(to: daemon.folder.appendingPathComponent("in"))
        #expect(try ostiary("item", "update", "--service", "s", "--secret", "in", "--set", "label=new").status == 0)
        #expect(try ostiary("item", "find", "--label", "new", "--output", "out").status == 0)
        #expect(content("out") == "second")
        let list = try ostiary("item", "list")
        #expect(list.screen.contains("new"))
        #expect(!list.screen.contains("second"))
        #expect(try ostiary("item", "delete", "--service", "s").status == 0)
        #expect(try ostiary("item", "find", "--service", "s").status == 1)
    }

    @Test func `an item under a rule is read by who proves it`() throws {
        try setPasscode()
        try Data("secret".utf8).write(to: daemon.folder.appendingPathComponent("in"))
        #expect(try ostiary("item", "add", "--service", "s", "--secret", "in", "--require", "passcode").status == 0)
        #expect(!(try ostiary("item", "list").screen.contains("passcode")))
        let read = try ostiary("item", "find", "--service", "s", "--output", "out", answers: [Self.passcode])
        #expect(read.status == 0, "\(read.screen)")
        #expect(content("out") == "secret")
        let refused = try ostiary(
            "item", "find", "--service", "s", "--output", "none", answers: ["wrong 1", "wrong 2", "wrong 3"])
        #expect(refused.status == 3)
        #expect(content("none") == nil)
    }

    @Test func `a key signs for its owner until it is removed`() throws {
        try setPasscode()
        try Data("challenge".utf8).write(to: daemon.folder.appendingPathComponent("in"))
        #expect(try ostiary("key", "create", "release", "--require", "passcode").status == 0)
        #expect(try ostiary("key", "create", "release").status == 1)
        #expect(try ostiary("key", "list").screen.contains("release"))
        #expect(try ostiary("key", "public-key", "release", "--output", "release.pem").status == 0)
        let signed = try ostiary("key", "sign", "release", "in", "--output", "signature", answers: [Self.passcode])
        #expect(signed.status == 0, "\(signed.screen)")
        #expect(FileManager.default.fileExists(atPath: daemon.path("signature")))
        #expect(try ostiary("key", "remove", "release").status == 0)
        #expect(try ostiary("key", "sign", "release", "in", "--output", "other").status == 1)
    }
}
