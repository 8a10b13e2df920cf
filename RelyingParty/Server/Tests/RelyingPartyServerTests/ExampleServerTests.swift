import Foundation
import IndependentTools
import Testing

/// The example server as a process, and browsers that did not come from here.
@Suite(.timeLimit(.minutes(10))) struct ExampleServerTests {
    private struct Step: Decodable {
        let name: String
        let status: Int
        let text: String
    }

    private static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Runs a script of the folder `Witnesses`, which starts the server that was built with this test.
    private static func play(_ script: String) throws -> [Step] {
        let python = package.deletingLastPathComponent().appendingPathComponent(".build/witnesses/bin/python3").path
        try #require(
            FileManager.default.isExecutableFile(atPath: python),
            "These tests need the Python packages fido2 and websocket. Run script/setup test.")
        let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("relying-party-server").path
        let file = try #require(Bundle.module.url(forResource: script, withExtension: "py", subdirectory: "Witnesses"))
        let outcome = try IndependentTool.run(python, [file.path], input: JSONEncoder().encode(program))
        try #require(outcome.status == 0, "\(outcome.diagnostics)")
        return try JSONDecoder().decode([Step].self, from: outcome.output)
    }

    private static func expect(_ steps: [Step], _ expected: [(String, Int, String)]) {
        #expect(steps.map(\.name) == expected.map(\.0))
        for (step, (name, status, text)) in zip(steps, expected) {
            // No text contains the empty one.
            let isExpected = text.isEmpty || step.text.contains(text)
            #expect(step.status == status && isExpected, "\(name): \(step)")
        }
    }

    @Test func `a browser registers and signs in, and everything else is refused for its reason`() throws {
        Self.expect(
            try Self.play("browser"),
            [
                ("/", 200, "page.js"), ("/page.js", 200, "navigator.credentials.create"), ("/page.css", 200, "body"),
                ("other page", 404, ""),
                ("registration", 200, "packed"), ("registration again", 403, "challengeNotOpen"),
                ("name is taken", 409, "has an account"), ("no name", 400, "1 to 64 bytes"),
                ("long name", 400, "1 to 64 bytes"), ("name is no text", 400, "1 to 64 bytes"),
                ("changed attestation", 403, "signatureInvalid"),
                ("name in a race", 200, "bob"), ("lost race", 409, "has an account"),
                ("sign-in after a lost race", 403, "credentialUnknown"),
                ("sign-in", 200, "the person was verified"), ("replay", 403, "challengeNotOpen"),
                ("replay with an open challenge", 403, "challengeNotOpen"), ("other origin", 403, "originNotAllowed"),
                ("changed signature", 403, "signatureInvalid"), ("registration's answer", 400, "malformed"),
                ("sign-in by name", 200, "ann"), ("sign-in by an unknown name", 200, "ann"),
                ("sign-in by another's name", 403, "credentialNotAllowed"),
                ("counter back", 403, "counterNotIncreased"), ("counter at zero", 403, "received: 0"),
                ("unknown credential", 403, "credentialUnknown"),
                ("other browser", 403, "sessionMismatch"), ("no cookie", 403, "sessionMismatch"),
                ("other credential's name", 403, "credentialUnknown"), ("no answer", 400, "malformed"),
                ("no JSON", 400, "malformed"), ("long answer", 400, "tooLong(140000)"), ("longer answer", 413, ""),
                ("sign-in after all", 200, "ann"), ("replay after a restart", 403, "challengeNotOpen"),
                ("sign-in after a restart", 200, "ann"), ("name is taken after a restart", 409, "has an account"),
            ])
    }

    /// The other site is a second server of the same domain, whose page got hold of the first one's options.
    @Test func `Chromium registers and signs in on the page`() throws {
        Self.expect(
            try Self.play("chromium"),
            [
                ("page", 200, "Sign in"), ("registration", 200, "ann: Registered"),
                ("sign-in", 200, "ann: Signed in; the person was verified."),
                ("name is taken", 200, "That did not work. The name has an account"),
                ("long name", 200, "1 to 64 bytes"),
                ("other origin", 403, "originNotAllowed"), ("counter on the authenticator", 200, "True"),
                ("counter back", 200, "counterNotIncreased"), ("security key", 200, "bob: Registered"),
                ("sign-in with a security key", 200, "bob: Signed in; the person was present."),
                ("content of other sites", 200, "Failed to fetch"),
            ])
    }
}
