import Foundation
@testable import ostiary
import Testing

/// The package that `ostiary init-package` writes.
@Suite struct InitPackageTests {
    private let folder: CommandFolder

    init() throws { folder = try CommandFolder() }

    /// A folder that looks like Ostiary's sources.
    private func sources(_ name: String = "sources") throws -> String {
        let sources = folder.url.appendingPathComponent(name)
        try FileManager.default.createDirectory(
            at: sources.appendingPathComponent("Sources/Frameworks/Security"), withIntermediateDirectories: true)
        return sources.path
    }

    private func text(_ path: String) throws -> String {
        String(decoding: try Data(contentsOf: folder.url.appendingPathComponent(path)), as: UTF8.self)
    }

    @Test func `a package is written, and what remains to be edited is said`() throws {
        let run = try CommandRun(["init-package", "Notes", "--ostiary", sources()], in: folder)
        #expect(run.status == 0, "\(run.errors)")
        #expect(
            run.text.split(separator: "\n") == [
                "Notes/Package.swift", "Notes/Sources/Notes/main.swift", "Notes/Sources/OSStandIn/Logger.swift",
                "Notes/Sources/OSStandIn/Lock.swift", "Notes/Sources/CombineStandIn/ObservableObject.swift",
            ])
        let manifest = try text("Notes/Package.swift")
        for edit in PackageTemplate.remainingEdits { #expect(run.errors.contains(edit) && manifest.contains(edit)) }
        #expect(manifest.hasPrefix("// swift-tools-version:6.2\n"))
        let path = folder.url.resolvingSymlinksInPath().path + "/sources"
        #expect(manifest.contains(#".package(name: "Ostiary", path: "\#(path)")"#))
    }

    /// The folder with program and sources can be moved.
    @Test(arguments: [
        ("sources", nil, "../sources"), ("./sources/", nil, "../sources"), ("sources", "a/b/c", "../../../sources"),
        ("here/../sources", "here/../x", "../sources"), (".", "x", ".."),
    ])
    func `relative sources stay relative, from the new folder on`(given: String, into: String?, written: String) throws
    {
        _ = try sources(given == "." ? "." : "sources")
        try FileManager.default.createDirectory(
            at: folder.url.appendingPathComponent("here"), withIntermediateDirectories: true)
        let arguments = ["init-package", "Notes", "--ostiary", given] + (into.map { ["--into", $0] } ?? [])
        let run = try CommandRun(arguments, in: folder)
        #expect(run.status == 0, "\(run.errors)")
        let manifest = try text((into ?? "Notes") + "/Package.swift")
        #expect(manifest.contains(#"path: "\#(written)")"#), "\(manifest)")
    }

    @Test(arguments: [
        ("git@github.com:o/ostiary.git", "ostiary"), ("git@host:ostiary", "ostiary"),
        ("ssh://git@host/o/ostiary", "ostiary"),
        ("https://example.org/Ostiary.git", "Ostiary"), ("file:///srv/ostiary.git", "ostiary"),
    ])
    func `an address for git is taken`(address: String, package: String) throws {
        let run = try CommandRun(["init-package", "Notes", "--ostiary", address], in: folder)
        #expect(run.status == 0, "\(run.errors)")
        let manifest = try text("Notes/Package.swift")
        #expect(
            manifest.contains(#".package(url: "\#(address)", branch: "main")"#) && manifest.contains("\"\(package)\""))
    }

    @Test(arguments: [
        "http://example.org/ostiary", "HTTP://example.org/ostiary", "git://example.org/ostiary", "ftp://a/b",
    ])
    func `an address whose answer anybody could change is refused`(address: String) throws {
        let run = try CommandRun(["init-package", "Notes", "--ostiary", address], in: folder)
        #expect(run.status == 2 && run.errors.contains("Nothing protects"), "\(run.errors)")
        #expect(!FileManager.default.fileExists(atPath: folder.path("Notes")))
    }

    @Test(arguments: [
        ("host:path", false), ("a/b@c:d", false), ("@host:path", false), ("git@:path", false), ("git@host:", false),
        ("-oProxyCommand=x@host:path", false), ("a@b@c:d", false), ("/git@host:path", false), ("git@host:path", true),
        ("git@host:/abs/path", true), ("x@host://y", true),
    ])
    func `a user and a host before a colon are an address`(text: String, isAddress: Bool) {
        #expect(GitAddress.isOne(text) == isAddress)
    }

    @Test(arguments: [
        "Security", "security", "Combine", "os", "OS", "LocalAuthentication", "Foundation", "Swift", "OSStandIn",
        "OstiaryClient", "Crypto",
    ])
    func `a module that the package needs is no name for it`(name: String) throws {
        let run = try CommandRun(["init-package", name, "--ostiary", sources()], in: folder)
        #expect(run.status == 2 && run.errors.contains("is the name of a module"), "\(run.errors)")
        #expect(!FileManager.default.fileExists(atPath: folder.path(name)))
    }

    /// A module of Ostiary's that is forgotten in the list would break the build of the new package.
    @Test func `every module of Ostiary's is taken`() throws {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let manifest = tests.appendingPathComponent("../../Package.swift")
        let text = try String(contentsOf: manifest, encoding: .utf8)
        let modules = text.matches(of: #/\.(?:target|systemLibrary)\(\s*name: "([A-Za-z0-9]+)"/#).map { String($0.1) }
        #expect(modules.count > 20)
        for module in modules where !["IndependentTools", "DaemonTestSupport"].contains(module) {
            #expect(PackageTemplate.isTaken(module), "\(module)")
        }
    }

    @Test func `the sample keeps no password from the arguments`() {
        #expect(!PackageTemplate.program.contains("CommandLine"))
        #expect(PackageTemplate.program.contains("readLine()"))
    }

    @Test func `sources can be an address`() throws {
        let run = try CommandRun(
            ["init-package", "Notes", "--ostiary", "https://example.org/x/ostiary.git", "--into", "there", "--json"],
            in: folder)
        #expect(run.status == 0 && run.text.contains(#""there/Package.swift""#))
        let manifest = try text("there/Package.swift")
        #expect(manifest.contains(#".package(url: "https://example.org/x/ostiary.git", branch: "main")"#))
        #expect(manifest.contains(#"package: "ostiary""#))
    }

    @Test(arguments: [
        "", "9lives", "a-b", "a b", "../up", "Säge", "a\"b", String(repeating: "a", count: 65),
    ])
    func `what names no module is refused`(name: String) throws {
        let run = try CommandRun(["init-package", "--ostiary", sources(), "--", name], in: folder)
        #expect(run.status == 2 && run.text.isEmpty)
    }

    @Test func `nothing is overwritten, and other folders are no sources`() throws {
        let sources = try sources()
        let kept = folder.url.appendingPathComponent("Notes")
        try FileManager.default.createDirectory(at: kept, withIntermediateDirectories: true)
        try Data("mine".utf8).write(to: kept.appendingPathComponent("mine"))
        let run = try CommandRun(["init-package", "Notes", "--ostiary", sources], in: folder)
        #expect(run.status == 1 && run.text.isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: kept.path) == ["mine"])
        #expect(try CommandRun(["init-package", "Other", "--ostiary", kept.path], in: folder).status == 2)
        #expect(try CommandRun(["init-package", "Other", "--ostiary", "/nowhere"], in: folder).status == 1)
        #expect(try CommandRun(["init-package", "Other", "--ostiary", "https://a\"b"], in: folder).status == 2)
        #expect(try CommandRun(["init-package", "Other", "--ostiary", self.sources("a\"b")], in: folder).status == 2)
        #expect(!FileManager.default.fileExists(atPath: folder.url.appendingPathComponent("Other").path))
    }

    /// The toolchain itself reads the manifest and the sources; our modules are those that were built with this test.
    @Test(.timeLimit(.minutes(10))) func `the package compiles against our modules`() throws {
        let run = try CommandRun(["init-package", "Notes", "--ostiary", sources()], in: folder)
        try #require(run.status == 0)
        let package = folder.url.appendingPathComponent("Notes")
        let manifest = try text("Notes/Package.swift")
        let behind = try #require(manifest.components(separatedBy: "unsafeFlags(").last)
        let list = try #require(behind.components(separatedBy: "]").first)
        let flags = list.components(separatedBy: "\"").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
        #expect(flags.count == 8)
        for module in ["OSStandIn", "CombineStandIn"] {
            let sources = try FileManager.default.contentsOfDirectory(atPath: package.path + "/Sources/" + module)
            try runTool(
                [
                    "swiftc", "-emit-module", "-swift-version", "5", "-parse-as-library", "-module-name", module, "-o",
                    "\(module).swiftmodule",
                ]
                    + sources.map { "Sources/\(module)/\($0)" }, in: package)
        }
        let built = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        try runTool(["swift", "package", "dump-package"], in: package)
        try runTool(
            [
                "swiftc", "-typecheck", "-swift-version", "5", "-I", ".", "-I",
                built.appendingPathComponent("Modules").path, "-Xcc",
                "-fmodule-map-file=" + built.appendingPathComponent("CLocalAuthentication.build/module.modulemap").path,
            ] + flags + ["Sources/Notes/main.swift"], in: package)
    }

    private func runTool(_ arguments: [String], in package: URL) throws {
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        compiler.arguments = arguments
        compiler.standardOutput = FileHandle.nullDevice
        compiler.currentDirectoryURL = package
        let errors = try folder.emptyFile("compiler-errors")
        compiler.standardError = try FileHandle(forWritingTo: errors)
        try compiler.run()
        compiler.waitUntilExit()
        let message = String(decoding: try Data(contentsOf: errors), as: UTF8.self)
        #expect(compiler.terminationStatus == 0, "\(message)")
    }
}
