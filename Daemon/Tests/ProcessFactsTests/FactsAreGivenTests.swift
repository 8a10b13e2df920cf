import Foundation
import Testing

/// Which parts look at callers. A daemon under an account of its own has others look, so no part may make its own facts, or read the
/// kernel's files about another process by itself.
@Suite("Who makes facts about callers")
struct FactsAreGivenTests {
    /// The programs' own folders: they choose, and give.
    private static let programs: Set = ["ostiaryd", "ostiary-simulator"]

    /// Read facts about other processes, behind `CallerFacts`.
    private static let facts = ["ProcessFacts/", "IdentityFacts/"]

    /// Files that name `/proc` for what the kernel says of the program itself, or of the machine.
    private static let ofItself: Set = [
        "Callers/Applications/NamedFile.swift", "Callers/Applications/OfferedProgram.swift",
        "Diagnosis/LoadedCode.swift", "Opening/OpenedStore.swift",
        "Opening/StartQuestion.swift", "Passcodes/BootClock.swift", "Passcodes/TimeNamespace.swift",
        "Prompting/ProcessPrompter.swift",
        "ostiary-sheet/Catalogue.swift", "ostiary-templates/FolderChanges.swift", "ostiaryd/Detachment.swift",
        "ostiaryd/Startup.swift", "ostiaryd/SystemDaemon.swift",
    ]

    private static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Sources")

    /// The lines of code of each file in Swift, without comments, by its path below the sources.
    private static func code() throws -> [String: [Substring]] {
        let paths = try #require(FileManager.default.enumerator(atPath: sources.path)).compactMap { $0 as? String }
        return try paths.filter { $0.hasSuffix(".swift") }.reduce(into: [:]) { code, path in
            let text = try String(contentsOf: sources.appendingPathComponent(path), encoding: .utf8)
            code[path] = text.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }
        }
    }

    @Test func `the programs alone make them`() throws {
        let makers = try Self.code().filter { $0.value.contains { $0.contains("KernelFacts()") } }.keys
        #expect(Set(makers.compactMap { $0.split(separator: "/").first.map(String.init) }) == Self.programs)
    }

    @Test func `one module reads the kernel's files about other processes`() throws {
        let readers = try Self.code().mapValues { $0.filter { $0.contains("/proc/") || $0.contains(#""/proc""#) } }
            .filter { !$0.value.isEmpty }
        let others = Set(readers.keys.filter { path in !Self.facts.contains { path.hasPrefix($0) } })
        #expect(others == Self.ofItself)
        for path in Self.ofItself {
            for line in readers[path] ?? [] {
                let ends = line.components(separatedBy: "/proc/").dropFirst()
                let isOfItself = !ends.isEmpty && ends.allSatisfy { $0.hasPrefix("self/") || $0.hasPrefix("sys/") }
                #expect(isOfItself, "\(path): \(line)")
            }
        }
    }
}
