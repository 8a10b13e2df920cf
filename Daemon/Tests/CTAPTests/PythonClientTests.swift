import Foundation
import TerminalTestSupport
import Testing

/// A client that did not come from here: python-fido2 against the authenticator in software, over CTAPHID.
@Suite struct PythonClientTests {
    private static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    @Test(
        .timeLimit(.minutes(10)),
        arguments: [
            "relying_party", "information", "pins", "permissions", "accounts", "management", "secrets_of_credentials",
            "protection", "touches", "fingers", "mixed_permissions", "silent_look", "reset", "framing",
        ])
    func `python-fido2 is served`(_ scene: String) throws {
        let python = Self.package.appendingPathComponent("RelyingParty/.build/witnesses/bin/python3").path
        try #require(
            FileManager.default.isExecutableFile(atPath: python),
            "This test needs the Python package fido2. Run script/setup test.")
        let script = Self.package.appendingPathComponent("Daemon/Tests/CTAPTests/Clients/client.py").path
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: python)
        process.arguments = ["-B", script, Build.program("software-authenticator"), scene]
        process.standardError = output
        try process.run()
        let words = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(words)")
    }
}
