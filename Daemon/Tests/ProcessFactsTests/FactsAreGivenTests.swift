import Foundation
import Testing

/// Which parts choose who looks at callers. A daemon under an account of its own has others look, so no part may make its own facts.
@Suite("Who makes facts about callers")
struct FactsAreGivenTests {
    /// The programs' own folders: they choose, and give.
    private static let programs: Set = ["ostiaryd", "ostiary-simulator"]

    @Test func `the programs alone make them`() throws {
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Sources")
        let files = try #require(FileManager.default.enumerator(atPath: sources.path)).compactMap { $0 as? String }
            .filter { $0.hasSuffix(".swift") }
        let makers = try files.filter { file in
            try String(contentsOf: sources.appendingPathComponent(file), encoding: .utf8).contains("KernelFacts()")
        }
        #expect(Set(makers.compactMap { $0.split(separator: "/").first.map(String.init) }) == Self.programs)
    }
}
