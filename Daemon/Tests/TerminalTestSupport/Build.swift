import Foundation
import Testing
public import Glibc

/// Where the programs of this build lie.
public enum Build {
    /// The absolute path of a program of this build, as the kernel names it when it runs.
    public static func program(_ name: String) -> String {
        URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent(name).path
    }

    public static let prompt = program("ostiary-prompt")
    public static let sheet = program("ostiary-sheet")

    /// Compiles the sheet's translations to where a sheet of this build looks for them.
    public static func compileTranslations(_ file: String = #filePath) throws {
        let root = URL(fileURLWithPath: file).deletingLastPathComponent().appendingPathComponent("../../..")
            .standardized
        let (process, folder) = (Process(), URL(fileURLWithPath: sheet).deletingLastPathComponent())
        process.executableURL = root.appendingPathComponent("script/compile-translations")
        process.arguments = [folder.appendingPathComponent("../../share/ostiary/locale").path]
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
    }
}

/// The running prompts, or other programs of that name, that `parent` has started and not reaped.
public func runningPrompts(of parent: pid_t = getpid(), named name: String = "ostiary-prompt") -> [pid_t] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap { pid_t($0) }.filter { processID in
        guard let text = try? String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8) else { return false }
        guard let end = text.range(of: " (\(name)) ") else { return false }
        let fields = text[end.upperBound...].split(separator: " ")
        return fields[0] != "Z" && fields[1] == "\(parent)"
    }
}
