import Foundation
import Glibc
import SecretItems
import Testing

@testable import SecretCommands

/// Files of the person's session: what is written, kept, and given back.
@Suite("Files of the session") struct SessionFileTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private func file(_ lines: String...) -> SessionFile {
        SessionFile(path: folder.file("a/b/its.service"), lines: lines.isEmpty ? ["[Group]", "Key=1"] : lines)
    }

    private static let name = "a/b/its.service"
    private static let kept = name + ".before-ostiary"
    private static let own = "\(SessionFile.mark)\n[Group]\nKey=1\n"

    @Test func `a file is written where there is none, readable by everybody, and taken away again`() throws {
        #expect(try file().state() == .absent)
        #expect(try file().place() == "Wrote \(folder.file(Self.name)).")
        #expect(try folder.everything() == [Self.name: Self.own])
        #expect(folder.mode(of: Self.name) == 0o644)
        #expect(try file().state() == .ours)
        #expect(try file().withdraw() == "Removed \(folder.file(Self.name)).")
        #expect(try folder.everything() == [:])
        #expect(try file().withdraw() == nil)
    }

    @Test func `a second run changes nothing, and another text takes the first one's place`() throws {
        _ = try file().place()
        #expect(try file().place() == "\(folder.file(Self.name)) is as it should be.")
        #expect(try file("Key=2").place() == "Wrote \(folder.file(Self.name)).")
        #expect(try folder.everything() == [Self.name: "\(SessionFile.mark)\nKey=2\n"])
    }

    @Test func `a file of the person's is kept, and given back as it was`() throws {
        try folder.write("theirs", to: Self.name)
        chmod(folder.file(Self.name), 0o640)
        let said = try file().place()
        #expect(said.contains(folder.file(Self.kept)), "it says where the former file is: \(said)")
        #expect(try folder.everything() == [Self.name: Self.own, Self.kept: "theirs"])
        _ = try file().place()
        #expect(try folder.everything() == [Self.name: Self.own, Self.kept: "theirs"])
        #expect(try file().withdraw() == "\(folder.file(Self.name)) is again what it was before.")
        #expect(try folder.everything() == [Self.name: "theirs"] && folder.mode(of: Self.name) == 0o640)
    }

    @Test func `a link is kept as a link, and what it leads to is not touched`() throws {
        try folder.write("elsewhere", to: "other")
        try folder.write("", to: "a/b/x")
        #expect(symlink("../../other", folder.file(Self.name)) == 0)
        #expect(try file().state() == .foreign)
        _ = try file().place()
        #expect(try folder.text(of: "other") == "elsewhere" && folder.text(of: Self.name) == Self.own)
        _ = try file().withdraw()
        #expect(try folder.everything() == ["other": "elsewhere", "a/b/x": "", Self.name: "-> ../../other"])
    }

    @Test func `a file that only begins like ours is not ours`() throws {
        try folder.write(SessionFile.mark + "!\n", to: Self.name)
        #expect(try file().state() == .foreign)
        try folder.write("\n" + Self.own, to: Self.name)
        #expect(try file().state() == .foreign)
        try folder.write("", to: Self.name)
        #expect(try file().state() == .foreign)
    }

    /// The first step of an interrupted run gave the file its second name.
    @Test func `an interrupted run is gone on with, or taken back`() throws {
        try folder.write("theirs", to: Self.name)
        #expect(link(folder.file(Self.name), folder.file(Self.kept)) == 0)
        #expect(try file().withdraw() == nil)
        #expect(try folder.everything() == [Self.name: "theirs"])
        #expect(link(folder.file(Self.name), folder.file(Self.kept)) == 0)
        _ = try file().place()
        #expect(try folder.everything() == [Self.name: Self.own, Self.kept: "theirs"])
        // Where a file system has no second names, there was none in between.
        #expect(unlink(folder.file(Self.name)) == 0)
        _ = try file().withdraw()
        #expect(try folder.everything() == [Self.name: "theirs"])
    }

    @Test func `two foreign files are never lost, and the person is told`() throws {
        try folder.write("first", to: Self.kept)
        try folder.write("second", to: Self.name)
        let failure = #expect(throws: SecretsFailure.self) { try file().place() }
        #expect(failure?.code == -170 && failure?.status == 1)
        #expect(failure?.description.contains(folder.file(Self.kept)) == true)
        let said = try #require(try file().withdraw())
        #expect(said.contains("stays"), "\(said)")
        #expect(try folder.everything() == [Self.name: "second", Self.kept: "first"])
    }

    /// A folder has no second name, so it is moved.
    @Test func `a folder in the file's place is kept, and given back with what is in it`() throws {
        try folder.write("theirs", to: Self.name + "/inner")
        #expect(try file().state() == .foreign)
        _ = try file().place()
        #expect(try folder.everything() == [Self.name: Self.own, Self.kept + "/inner": "theirs"])
        #expect(try file().withdraw() == "\(folder.file(Self.name)) is again what it was before.")
        #expect(try folder.everything() == [Self.name + "/inner": "theirs"])
    }

    @Test func `a file that cannot be looked at is neither absent nor overwritten`() throws {
        try folder.write("", to: "a/b")
        let failure = #expect(throws: SecretsFailure.self) { try file().place() }
        #expect(failure?.code == -101)
        #expect(try folder.everything() == ["a/b": ""])
    }

    @Test(.enabled(if: getuid() != 0, "root may write everywhere"))
    func `what cannot be written leaves no trace`() throws {
        try folder.write("theirs", to: Self.name)
        chmod(folder.file("a/b"), 0o500)
        defer { chmod(folder.file("a/b"), 0o700) }
        let failure = #expect(throws: SecretsFailure.self) { try file().place() }
        #expect(failure?.code == -102)
        #expect(try folder.everything() == [Self.name: "theirs"])
    }
}
