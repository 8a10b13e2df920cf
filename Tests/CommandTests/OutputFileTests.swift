import CommandFailures
import Foundation
import Glibc
import SecretMemory
import Testing
import UnixSocket

@testable import ostiary

@Suite("Output files")
struct OutputFileTests {
    private let folder: CommandFolder

    init() throws { folder = try CommandFolder() }

    private func content(_ name: String) throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: folder.path(name)))
    }

    @Test func `a plaintext is for its owner only`() throws {
        try OutputFile(folder.path("out")).write(SecretBytes(Data("plain".utf8)))
        #expect(try content("out") == Data("plain".utf8))
        #expect(try folder.mode("out") == 0o600)
        #expect(try folder.names == ["out"])
    }

    @Test(arguments: [OutputFile.Content.text, .binary])
    func `anything else has the mode that the umask leaves`(kind: OutputFile.Content) throws {
        // Made by the system, and not asked of umask(2): that changes it for all tests of this process.
        let made = open(folder.path("made"), O_CREAT | O_WRONLY, 0o666)
        try #require(made >= 0)
        close(made)
        try OutputFile(folder.path("out")).write(Data("x".utf8), as: kind)
        #expect(try folder.mode("out") == folder.mode("made"))
    }

    @Test func `an older file that others could read is replaced, not filled`() throws {
        _ = try folder.file("out", Data("older and longer".utf8))
        chmod(folder.path("out"), 0o644)
        let older = open(folder.path("out"), O_RDONLY)
        defer { close(older) }
        try OutputFile(folder.path("out")).replacing.write(SecretBytes(Data("new".utf8)))
        #expect(try content("out") == Data("new".utf8))
        #expect(try folder.mode("out") == 0o600)
        var buffer = [UInt8](repeating: 0, count: 100)
        #expect(read(older, &buffer, 100) == 16)  // Who had it open sees what was there.
    }

    @Test func `a failed write leaves the older file and nothing beside it`() throws {
        _ = try folder.file("out", Data("older".utf8))
        // Longer than a file name can be: the rename, the last step, fails.
        let target = folder.path(String(repeating: "n", count: 256))
        let error = #expect(throws: CommandError.self) {
            try OutputFile(target).replacing.write(SecretBytes(Data("new".utf8)))
        }
        #expect(error == .unwritableOutput(SystemCallError("rename", subject: target, code: ENAMETOOLONG)))
        #expect(try folder.names == ["out"])
        #expect(try content("out") == Data("older".utf8))
    }

    @Test func `a symbolic link is followed`() throws {
        _ = try folder.file("real", Data())
        symlink("real", folder.path("link"))
        try OutputFile(folder.path("link")).replacing.write(Data("x".utf8), as: .text)
        #expect(try content("real") == Data("x".utf8))
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.path("link")) == "real")
    }

    @Test func `a device is written to and stays one`() throws {
        try OutputFile("/dev/null").write(Data("x".utf8), as: .binary)
        var status = stat()
        #expect(stat("/dev/null", &status) == 0 && status.st_mode & S_IFMT == S_IFCHR)
    }

    @Test(arguments: ["missing/out", ".", "new/"])
    func `an output that cannot be is refused before anybody is asked`(name: String) throws {
        let error = #expect(throws: CommandError.self) { try OutputFile(folder.path(name)).requireUsable(for: .secret) }
        #expect(try #require(error).failureClass.name == "unwritableOutput")
    }

    @Test func `a new and an older file are usable`() throws {
        _ = try folder.file("older", Data())
        for name in ["new", "older"] { try OutputFile(folder.path(name)).requireUsable(for: .binary) }
        try OutputFile("/dev/null").requireUsable(for: .binary)
        #expect(try folder.names == ["older"])
    }

    @Test(arguments: [("file", "file"), ("link", "file"), ("dangling", nil)])
    func `an older file is overwritten only on purpose, also one that came meanwhile`(name: String, real: String?)
        throws
    {
        _ = try folder.file("file", Data("older".utf8))
        symlink("file", folder.path("link"))
        symlink("nowhere", folder.path("dangling"))
        let before = try folder.names
        #expect(OutputFile(folder.path(name)).olderFile == folder.path(name))
        let error = #expect(throws: CommandError.self) {
            try OutputFile(folder.path(name)).write(Data("new".utf8), as: .text)
        }
        #expect(error == .unwritableOutput(SystemCallError("rename", subject: folder.path(name), code: EEXIST)))
        #expect(try content("file") == Data("older".utf8))
        #expect(try folder.names == before)
    }

    private func write(_ names: [String], replacing: Bool) throws {
        let files = names.map { OutputFile(folder.path($0)) }
        try OutputFile.write(
            files.map { (file: replacing ? $0.replacing : $0, data: Data("new".utf8)) }, as: .binary)
    }

    /// Longer than a name can be, so that the last step fails.
    private static let tooLong = String(repeating: "n", count: 256)

    @Test(arguments: [true, false]) func `several files are written, or none of them`(replacing: Bool) throws {
        _ = try folder.file("second", Data("older".utf8))
        symlink("second", folder.path("link"))
        let error = #expect(throws: CommandError.self) {
            try write(["first", replacing ? "link" : "third", Self.tooLong], replacing: replacing)
        }
        #expect(
            error
                == .unwritableOutput(
                    SystemCallError("rename", subject: folder.path(Self.tooLong), code: ENAMETOOLONG)))
        #expect(try folder.names == ["link", "second"])
        #expect(try content("second") == Data("older".utf8))
        try write(["first", replacing ? "link" : "third"], replacing: replacing)
        #expect(try content("first") == Data("new".utf8))
        #expect(try content(replacing ? "second" : "third") == Data("new".utf8))
        #expect(try folder.names == ["first", "link", "second"] + (replacing ? [] : ["third"]))
    }

    @Test func `a file that came meanwhile stays, and the others are taken back`() throws {
        _ = try folder.file("second", Data("older".utf8))
        let error = #expect(throws: CommandError.self) { try write(["first", "second"], replacing: false) }
        #expect(error == .unwritableOutput(SystemCallError("rename", subject: folder.path("second"), code: EEXIST)))
        #expect(try folder.names == ["second"])
        #expect(try content("second") == Data("older".utf8))
    }

    @Test func `a file is the same under each of its names`() throws {
        _ = try folder.file("file", Data("x".utf8))
        symlink("file", folder.path("link"))
        link(folder.path("file"), folder.path("second"))
        _ = try folder.file("other", Data("x".utf8))
        let identity = try #require(FileIdentity(path: folder.path("file")))
        for name in ["link", "second", "./file", "../\(folder.url.lastPathComponent)/file"] {
            #expect(FileIdentity(path: folder.path(name)) == identity, "\(name)")
        }
        #expect(FileIdentity(path: folder.path("other")) != identity)
        for path in ["/dev/null", folder.path("missing"), folder.path(".")] { #expect(FileIdentity(path: path) == nil) }
    }

    @Test func `a new file and a device are nobody's loss`() {
        for path in [folder.path("new"), "/dev/null", "-"] { #expect(OutputFile(path).olderFile == nil) }
        #expect(OutputFile(nil).olderFile == nil)
    }

    @Test(arguments: 0...7) func `a secret in JSON is base64, as the encoders write it`(count: Int) throws {
        let secret = Data((0..<count).map { UInt8(truncatingIfNeeded: 0xfa + 31 * $0) })
        let object = SecretObject.bytes(key: "secret", SecretBytes(secret))
        let text = object.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        #expect(text == "{\"secret\":\"\(secret.base64EncodedString())\"}\n")
    }
}
