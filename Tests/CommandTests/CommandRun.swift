import Foundation
import Testing

/// One run of the built command in folders of its own and without a daemon.
struct CommandRun {
    let status: Int32
    let output: Data
    let errors: String

    var text: String { String(decoding: output, as: UTF8.self) }

    /// The program in a folder of its own: beside the test bundle, where it is built, lies `ostiaryd` too, and `ostiary`
    /// starts what lies beside it.
    static let program = Result { try programAlone() }

    private static func programAlone() throws -> URL {
        // The runner's first argument is the test bundle.
        let built = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        let folder = built.appendingPathComponent("ostiary-alone")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let program = folder.appendingPathComponent("ostiary")
        if FileManager.default.fileExists(atPath: program.path) { try FileManager.default.removeItem(at: program) }
        try FileManager.default.linkItem(at: built.appendingPathComponent("ostiary"), to: program)
        return program
    }

    /// Runs `ostiary` with `arguments` and waits for its end.
    init(_ arguments: [String], input: Data = Data(), in folder: CommandFolder) throws {
        let process = Process()
        process.executableURL = try Self.program.get()
        process.arguments = arguments
        process.currentDirectoryURL = folder.url
        process.environment = try Self.environment(in: folder)
        let (outputFile, errorFile) = (try folder.emptyFile("stdout"), try folder.emptyFile("stderr"))
        let inputFile = folder.url.appendingPathComponent("stdin")
        try input.write(to: inputFile)
        process.standardInput = try FileHandle(forReadingFrom: inputFile)
        process.standardOutput = try FileHandle(forWritingTo: outputFile)
        process.standardError = try FileHandle(forWritingTo: errorFile)
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationReason == .exit)
        status = process.terminationStatus
        output = try Data(contentsOf: outputFile)
        errors = String(decoding: try Data(contentsOf: errorFile), as: UTF8.self)
    }

    /// Runtime and state folders that hold nothing.
    static func environment(in folder: CommandFolder) throws -> [String: String] {
        [
            "XDG_RUNTIME_DIR": try folder.privateFolder("runtime"), "XDG_STATE_HOME": try folder.privateFolder("state"),
            "PATH": "/usr/bin:/bin", "COLUMNS": "200",
        ]
    }
}

/// A folder in which the command runs. It goes away with the test.
final class CommandFolder {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("ostiary-tests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.path + "/" + name }

    func file(_ name: String, _ content: Data) throws -> String {
        try content.write(to: url.appendingPathComponent(name))
        return path(name)
    }

    func emptyFile(_ name: String) throws -> URL {
        _ = try file(name, Data())
        return url.appendingPathComponent(name)
    }

    func privateFolder(_ name: String) throws -> String {
        let folder = url.appendingPathComponent(name)
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return folder.path
    }

    /// The names in the folder, sorted.
    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() }
    }

    func mode(_ name: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path(name))
        return try #require(attributes[.posixPermissions] as? Int)
    }
}
