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
        // Names of types and cases of Swift are for programmers. The page's script makes errors of its own language.
        for step in steps where step.name != "/page.js" {
            #expect(!step.text.contains("RelyingParty.") && !step.text.contains("Error("), "\(step)")
        }
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
                ("other page", 404, "There is no such page."),
                ("other page for a person", 404, "<h1>That did not work</h1>"),
                ("nobody's account", 200, "{}"), ("nobody's /keys/options", 401, "signed-out"),
                ("nobody's /keys", 401, "signed-out"), ("nobody's /keys/rename", 401, "signed-out"),
                ("nobody's /keys/remove", 401, "signed-out"),
                ("registration", 200, "statement"), ("registration again", 403, "challenge-not-open"),
                ("name is taken", 409, "has an account"), ("no name", 400, "1 to 64 bytes"),
                ("long name", 400, "1 to 64 bytes"), ("name is no text", 400, "1 to 64 bytes"),
                ("changed attestation", 403, "\"attestation\""),
                ("name in a race", 200, "bob"), ("lost race", 409, "has an account"),
                ("sign-in after a lost race", 403, "credential-unknown"),
                ("account", 200, "\"ann\""), ("last key", 409, "only key"), ("key is added", 200, "The key was added."),
                ("keys", 200, "2"), ("sister's /keys/remove", 403, "foreign-origin"),
                ("sister's /keys/rename", 403, "foreign-origin"), ("sister's /sign-out", 403, "foreign-origin"),
                ("sister's /keys/options", 403, "foreign-origin"), ("sister's /sign-in/options", 403, "foreign-origin"),
                ("page that hides its origin", 403, "foreign-origin"),
                ("page of an old browser", 403, "foreign-origin"),
                ("after other pages", 200, "\"ann\""), ("key is named", 200, ""), ("name is shown", 200, "blue key"),
                ("long name of a key", 403, "nickname-length"), ("name of a foreign key", 404, "no-such-key"),
                ("foreign key", 404, "no-such-key"), ("key of another account", 403, "user-handle-mismatch"),
                ("sign-in with the key that goes", 200, "ann"), ("key is removed", 200, "allAcceptedCredentialIds"),
                ("session of the removed key", 200, "{}"), ("session of who removed it", 200, "\"ann\""),
                ("removed key", 403, "credential-unknown"),
                ("sign-out", 200, ""), ("account after the sign-out", 200, "{}"),
                ("sign-in", 200, "the person was verified"), ("second sign-in", 200, "ann"),
                ("session before the second sign-in", 200, "{}"), ("cookie of another name", 200, "{}"),
                ("cookie of this name", 200, "\"ann\""), ("replay", 403, "challenge-not-open"),
                ("replay with an open challenge", 403, "challenge-not-open"),
                ("other origin", 403, "origin-not-allowed"), ("changed signature", 403, "signature-invalid"),
                ("registration's answer", 400, "answer-malformed"),
                ("sign-in by name", 200, "ann"), ("sign-in by an unknown name", 200, "ann"),
                ("sign-in by another's name", 403, "credential-not-allowed"),
                ("counter back", 403, "counter-not-increased"), ("counter at zero", 403, "counter-not-increased"),
                ("unknown credential", 403, "credential-unknown"),
                ("other browser", 403, "session-mismatch"), ("no cookie", 403, "session-mismatch"),
                ("other credential's name", 403, "credential-unknown"), ("no answer", 400, "answer-malformed"),
                ("no JSON", 400, "answer-malformed"), ("long answer", 400, "answer-too-long"),
                ("longer answer", 413, "too large"),
                ("sign-in after all", 200, "ann"), ("replay after a restart", 403, "challenge-not-open"),
                ("sign-in after a restart", 200, "ann"), ("name is taken after a restart", 409, "has an account"),
            ])
    }

    /// The other site is a second server of the same domain, whose page got hold of the first one's options.
    @Test func `Chromium registers and signs in on the page`() throws {
        Self.expect(
            try Self.play("chromium"),
            [
                ("page", 200, "Sign in"), ("registration", 200, "ann: Registered"), ("keys", 200, "never used"),
                ("sign-out", 200, "Signed out."), ("sign-in", 200, "ann: Signed in; the person was verified."),
                ("used key", 200, "last used"), ("last key", 200, "This is the only key"),
                ("same key again", 200, "registered already"), ("key is added", 200, "The key was added."),
                ("name", 200, "new name"), ("both keys", 200, "<b>blue</b>"), ("key is removed", 200, "was removed"),
                ("key that stays", 200, "Passkey"), ("answer for another port", 200, "opaque"),
                ("account after another port's page", 200, "\"ann\""),
                ("name is taken", 200, "That did not work. The name has an account"),
                ("long name", 200, "1 to 64 bytes"),
                ("other origin", 403, "origin-not-allowed"), ("counter on the authenticator", 200, "True"),
                ("counter back", 200, "There may be a copy"),
                ("error page", 200, "That did not work There is no such page. Back to the start"),
                ("dark page", 200, "light on dark"), ("light page", 200, "dark on light"),
                ("security key", 200, "bob: Registered"),
                ("sign-in with a security key", 200, "bob: Signed in; the person was present."),
                ("content of other sites", 200, "Failed to fetch"),
            ])
    }
}
