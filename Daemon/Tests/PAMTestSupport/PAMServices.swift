import Foundation
import Glibc
public import StoreTestSupport
import UnixSocket

/// PAM services of the test's own, for the real libpam and real modules.
public final class PAMServices: Sendable {
    public let folder: TestFolder

    public init() throws {
        folder = try TestFolder()
        // Helpers of other users read the services.
        guard chmod(folder.path, 0o755) == 0 else { throw SystemCallError("chmod") }
    }

    /// Writes a service's file.
    public func write(_ text: String, to service: String = "face") throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path(service)))
        guard chmod(folder.path(service), 0o644) == 0 else { throw SystemCallError("chmod") }
    }

    /// A service that runs a shell script in the module's place; what it prints is text for the person (pam_exec(8)).
    public func writeScript(_ script: String) throws {
        try writeProgram(script)
        try write("auth required pam_exec.so quiet stdout \(folder.path("script"))\n")
    }

    private func writeProgram(_ script: String) throws {
        try Data("#!/bin/bash\n\(script)\n".utf8).write(to: URL(fileURLWithPath: folder.path("script")))
        guard chmod(folder.path("script"), 0o755) == 0 else { throw SystemCallError("chmod") }
    }

    /// A service with a module that starts a shell script, which inherits everything. Its number is the first text.
    ///
    /// - Parameter isAwaited: whether the module waits until the script has ended, before it says yes.
    public func writeStarter(_ script: String, isAwaited: Bool = true) throws {
        try writeProgram(script)
        try writeModule("\(isAwaited ? "run" : "leave") \(folder.path("script"))")
    }

    /// A service with the module of `Modules/pam_test.c`.
    public func writeModule(_ arguments: String) throws {
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/Modules/pam_test.c"
        let compiler = Process()
        compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        compiler.arguments = [
            "cc", "-shared", "-fPIC", "-Wall", "-Werror", "-o", folder.path("pam_test.so"), source, "-lpam",
        ]
        try compiler.run()
        compiler.waitUntilExit()
        guard compiler.terminationStatus == 0 else { throw NotCompiled() }
        try write("auth required \(folder.path("pam_test.so")) \(arguments)\n")
    }

    public struct NotCompiled: Error {}

    /// What a script has written to a file, without the last line break.
    public func contents(_ name: String) throws -> String {
        try String(contentsOfFile: folder.path(name), encoding: .utf8).trimmingCharacters(in: .newlines)
    }
}
