public import Foundation

/// Makes program files for tests, through another process.
///
/// A file that this process wrote cannot be executed (ETXTBSY) while a child of another test still holds it open for writing: one that was
/// forked in between and has not executed its own program yet.
public enum ProgramFile {
    /// Copies a program or a script.
    public static func copy(_ source: URL, to path: String, mode: Int = 0o755) throws {
        let outcome = try IndependentTool.run(
            "install", ["--mode", String(mode, radix: 8), source.path, path])
        guard outcome.status == 0 else { throw IndependentTool.Failure(diagnostics: outcome.diagnostics) }
    }

    /// Makes a script.
    public static func script(_ text: String, at path: String, mode: Int = 0o755) throws {
        try IndependentTool.withFolder { folder in
            try copy(folder.file("script", Data(text.utf8)), to: path, mode: mode)
        }
    }
}
