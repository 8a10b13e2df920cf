public import Foundation

/// A program of a test's own, to be registered, replaced and removed: a copy in the folder of the test's daemon.
public struct ProgramCopy {
    public let url: URL
    private let daemon: PrivateDaemon

    /// Copies a program that this package built.
    public init(of program: String, as name: String, in daemon: PrivateDaemon) throws {
        self.daemon = daemon
        url = daemon.folder.appendingPathComponent(name)
        try FileManager.default.copyItem(at: BuiltProgram.named(program), to: url)
    }

    /// Puts a file with a few bytes more in its place: what a new build is to the daemon.
    public func rebuild() throws {
        let new = url.appendingPathExtension("new")
        try (Data(contentsOf: url) + Data("rebuilt".utf8)).write(to: new)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: new.path)
        guard rename(new.path, url.path) == 0 else { throw TestSupportError("The program cannot be replaced.") }
    }

    /// Runs it on a terminal; returns its lines of the form `name: outcome`, without what prompts drew.
    public func run(_ arguments: String..., answers: [String] = []) throws -> [String] {
        Self.outcomes(try PlayedTerminal(url, arguments, answers: answers, in: daemon).screen)
    }

    /// As ``run(_:answers:)``, with a line `prompt` wherever the person was asked for the passcode.
    public func runShowingPrompts(_ arguments: String..., answers: [String]) throws -> [String] {
        let screen = try PlayedTerminal(url, arguments, answers: answers, in: daemon).screen
        return screen.split(whereSeparator: \.isNewline).compactMap { line in
            line.contains("asscode: ") ? "prompt" : Self.isOutcome(line) ? String(line) : nil
        }
    }

    /// Runs it where nobody can be asked.
    public func runUnattended(_ arguments: String...) throws -> [String] {
        Self.outcomes(try UnattendedRun(url, arguments, in: daemon).output)
    }

    private static func outcomes(_ text: String) -> [String] {
        text.split(whereSeparator: \.isNewline).filter(isOutcome).map(String.init)
    }

    private static func isOutcome(_ line: Substring) -> Bool {
        line.range(of: #"^[a-z][a-z ]*: "#, options: .regularExpression) != nil
    }
}
