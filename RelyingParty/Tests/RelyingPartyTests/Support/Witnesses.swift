import Foundation
import IndependentTools
import Testing

/// Python packages that speak WebAuthn and did not come from here. `script/setup test` puts them into a folder of their own.
enum Witnesses {
    /// The folder of the package.
    static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// Runs a script of the folder `Witnesses` with `input` as JSON.
    static func run<Output: Decodable>(
        _ script: String, _ input: some Encodable, returning: Output.Type
    ) throws -> Output {
        let python = package.appendingPathComponent(".build/witnesses/bin/python3").path
        try #require(
            FileManager.default.isExecutableFile(atPath: python),
            "These tests need the Python packages fido2 and webauthn. Run script/setup test.")
        let file = try #require(Bundle.module.url(forResource: script, withExtension: "py", subdirectory: "Witnesses"))
        let outcome = try IndependentTool.run(python, [file.path], input: JSONEncoder().encode(input))
        try #require(outcome.status == 0, "\(outcome.diagnostics)")
        return try JSONDecoder().decode(Output.self, from: outcome.output)
    }
}
