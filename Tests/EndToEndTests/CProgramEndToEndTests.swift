import DaemonTestSupport
import Foundation
import Testing

/// A program in C, compiled against the header and linked with the library as its author would, on a real daemon.
@Suite("The C interface, end to end", .serialized)
struct CProgramEndToEndTests {
    static let passcode = "correct horse 9"
    private let daemon: PrivateDaemon
    private let program: URL

    init() throws {
        daemon = try PrivateDaemon()
        program = daemon.folder.appendingPathComponent("keychain-in-c")
        try Self.compile(to: program)
        let set = try PlayedTerminal(
            BuiltProgram.ofThisPackage("ostiary"), ["passcode", "set"], answers: [Self.passcode, Self.passcode],
            in: daemon)
        try #require(set.status == 0, "\(set.screen)")
    }

    static func compile(to program: URL) throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
            .standardizedFileURL
        let library = BuiltProgram.ofThisPackage("libostiary-security.so")
        let folder = library.deletingLastPathComponent().path
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        compiler.arguments = [
            "clang", "-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror",
            "-I", root.path + "/Sources/Frameworks/COstiarySecurity/include",
            root.path + "/Tests/Programs/keychain-in-c/main.c", library.path, "-Wl,-rpath," + folder, "-o",
            program.path,
        ]
        try compiler.run()
        compiler.waitUntilExit()
        try #require(compiler.terminationStatus == 0)
    }

    /// The scenario's lines of the form `name: outcome`, without what the prompts drew.
    private func run(_ scenario: String, answers: [String] = []) throws -> [String] {
        let run = try PlayedTerminal(program, [scenario], answers: answers, in: daemon)
        #expect(run.status == 0, "\(run.screen)")
        return run.screen.split(whereSeparator: \.isNewline).map(String.init).filter {
            $0.range(of: #"^[a-z][a-z ]*: "#, options: .regularExpression) != nil
        }
    }

    @Test func `a protected item is stored, read by its owner, refused to others, changed and deleted`() throws {
        #expect(try run("store") == ["add: 0", "add again: -25299"])
        #expect(try run("read", answers: [Self.passcode]) == ["read: 0", "secret: a secret from C"])
        #expect(try run("read", answers: ["wrong 1", "wrong 2", "wrong 3"]) == ["read: -25293", "result: nothing"])
        #expect(
            try run("change", answers: [Self.passcode]) == [
                "update: 0", "delete: 0", "delete again: -25300", "find deleted: -25300",
            ])
    }

    @Test func `what a call returns is lent by its container`() throws {
        #expect(try run("store") == ["add: 0", "add again: -25299"])
        #expect(
            try run("list", answers: [Self.passcode]) == [
                "add other: 0", "list: 0", "account: owner", "date: ok", "account: other", "type: 7", "date: ok",
            ])
    }

    @Test func `keys are made, sign and verify`() throws {
        #expect(
            try run("keys") == [
                "public key: 65", "verify: 1", "verify other: 0", "error: NSOSStatusErrorDomain -67808",
                "sign with public key: refused", "error: NSOSStatusErrorDomain -50",
            ])
    }

    @Test func `NULL and handles of a wrong kind are refused and trap nowhere`() throws {
        #expect(
            try run("refusals") == [
                "add nothing: -50", "result: nothing", "find nothing: -50", "update nothing: -50",
                "delete nothing: -50",
                "find by text: -50", "delete by text: -50", "find what is not there: -25300",
                "update without changes: -50", "find a loop: -50", "make a key of nothing: NSOSStatusErrorDomain -50",
                "sign with text: NSOSStatusErrorDomain -50", "verify with text: 0", "error: NSOSStatusErrorDomain -50",
                "export nothing: NSOSStatusErrorDomain -50", "protect with nothing: NSOSStatusErrorDomain -50",
                "protect with text: NSOSStatusErrorDomain -50", "random nowhere: -50", "harmless: 1", "count: 3",
            ])
    }

    @Test func `an item under the passcode is stored and read as in Objective-C`() throws {
        #expect(
            try run("objective", answers: [Self.passcode]) == [
                "add: 0", "find under another account: -25300", "find: 0", "password: test password",
            ])
        #expect(
            try run("objective", answers: ["wrong 1", "wrong 2", "wrong 3"]) == [
                "add: -25299", "find under another account: -25300", "find: -25293",
            ])
    }

    @Test func `case 110: a status has words, and randomness is random whatever generator is named`() throws {
        #expect(
            try run("words") == [
                "message: ok", "random: 0", "filled: 1", "random of a bogus generator: 0", "filled by it: 1",
            ])
    }

    /// The header repeats names, texts and numbers of the module, which C cannot read.
    @Test(arguments: [
        (
            "Constants", #"public var (kSec\w+): CFString \{ "(.*)" \}"#, "constants",
            #"X\((kSec(?!KeyAlgorithm)\w+), "(.*)"\)"#
        ),
        ("SecBase.swift", #"public let (errSec\w+): OSStatus = (-?\d+)"#, "status", #"(errSec\w+) = (-?\d+),"#),
        (
            "Keys/SecKeyAlgorithm.swift", #"()SecKeyAlgorithm\("(.*)"\)"#, "constants",
            #"X\((?:kSecKeyAlgorithm\w+)(), "(.*)"\)"#
        ),
    ])
    func `the header has every constant of the module`(
        source: String, declaration: String, header: String, entry: String
    ) throws {
        let frameworks = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../Sources/Frameworks")
            .standardizedFileURL
        let module = frameworks.appendingPathComponent("Security/" + source)
        var files = [module]
        if module.pathExtension.isEmpty {
            files = try FileManager.default.contentsOfDirectory(at: module, includingPropertiesForKeys: nil)
        }
        let declared = try files.flatMap { try pairs(in: $0, declaration) }
        let listed = try pairs(
            in: frameworks.appendingPathComponent("COstiarySecurity/include/ostiary-security-\(header).h"), entry)
        #expect(declared.count > 80)
        #expect(Set(declared) == Set(listed))
    }

    private func pairs(in file: URL, _ pattern: String) throws -> [[String]] {
        let text = try String(contentsOf: file, encoding: .utf8)
        return try NSRegularExpression(pattern: pattern).matches(in: text, range: NSRange(text.startIndex..., in: text))
            .map {
            match in (1...2).map { String(text[Range(match.range(at: $0), in: text)!]) }
        }
    }
}
