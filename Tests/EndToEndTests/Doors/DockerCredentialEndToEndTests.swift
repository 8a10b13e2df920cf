import DaemonTestSupport
import Foundation
import Testing

/// `docker-credential-ostiary` against the real daemon.
@Suite("docker's credential helper, end to end", .serialized, .timeLimit(.minutes(10)))
struct DockerCredentialEndToEndTests {
    private static let server = "https://index.docker.io/v1/"
    private static let document =
        #"{"ServerURL":"https://index.docker.io/v1/","Username":"me","Secret":"p\"ss"}"# + "\n"

    @Test func `a credential goes in, comes back, is listed, and is erased`() throws {
        let stage = try CredentialStage()
        let stored = try stage.docker("store", input: Self.document)
        #expect(stored.status == 0 && stored.output.isEmpty && stored.errors.isEmpty, "\(stored)")
        #expect(try stage.docker("get", input: Self.server + "\n").output == Self.document)
        #expect(try stage.docker("get", input: " \(Self.server) \n").output == Self.document)
        #expect(try stage.docker("list").output == #"{"https://index.docker.io/v1/":"me"}"# + "\n")
        // A server has one user.
        let other = Self.document.replacingOccurrences(of: "\"me\"", with: "\"you\"")
        #expect(try stage.docker("store", input: other).status == 0)
        #expect(try stage.docker("store", input: other).status == 0)
        #expect(try stage.docker("get", input: Self.server).output == other)
        #expect(try stage.docker("list").output == #"{"https://index.docker.io/v1/":"you"}"# + "\n")
        #expect(try stage.docker("erase", input: Self.server).status == 0)
        #expect(try stage.docker("list").output == "{}\n")
    }

    @Test func `failures have upstream's texts, on standard output`() throws {
        let stage = try CredentialStage()
        for (action, input, text) in [
            ("get", "https://nobody.example", "credentials not found in native keychain"),
            ("get", "\n", "no credentials server URL"), ("erase", "", "no credentials server URL"),
            ("store", "{}", "no credentials server URL"),
            ("store", #"{"ServerURL":"a","Secret":"b"}"#, "no credentials username"),
            ("fill", "", "Unknown credential action `fill`"),
        ] {
            let outcome = try stage.docker(action, input: input)
            #expect(
                outcome.status == 1 && outcome.output == text + "\n" && outcome.errors.isEmpty, "\(action): \(outcome)")
        }
        #expect(try stage.docker("version").output == "docker-credential-ostiary (ostiary) 0.1.0\n")
        #expect(try stage.docker("erase", input: "https://nobody.example").status == 0)
    }

    @Test func `git and docker see nothing of each other's`() throws {
        let stage = try CredentialStage()
        #expect(try stage.docker("store", input: Self.document).status == 0)
        let place = "protocol=https\nhost=index.docker.io\n"
        #expect(try stage.git(["credential", "fill"], input: place).output.isEmpty)
        #expect(try stage.git(["credential", "approve"], input: place + "username=g\npassword=h\n").status == 0)
        #expect(try stage.git(["credential", "reject"], input: place).status == 0)
        #expect(try stage.docker("get", input: Self.server).output == Self.document)
        #expect(
            try stage.docker("get", input: "https://index.docker.io").output
                == "credentials not found in native keychain\n")
    }

    @Test func `a secret under a rule is replaced under that rule, and stays where a locked store cannot take another`()
        throws
    {
        let stage = try CredentialStage(.withPasscode)
        try stage.daemon.unlock()
        let command = try stage.registeredCommand()
        let added = try stage.run(
            command.url.path,
            [
                "item", "add", "--class", "internet", "--group", CredentialStage.group, "--server", "index.docker.io",
                "--account", "me", "--attribute", "security-domain=docker", "--attribute", "protocol=https",
                "--attribute", "port=0", "--attribute", "path=/v1/", "--require", "passcode",
            ], input: "former")
        #expect(added.status == 0, "\(added.errors)")
        stage.daemon.kill()
        try stage.daemon.start()
        let alone = try stage.docker("store", input: Self.document)
        #expect(alone.status == 1 && alone.output == "The store is locked; open it with `ostiary unlock`.\n")
        let name = "docker-credential-ostiary"
        let declined = try stage.helperOnTerminal(name, ["store"], input: Self.document, answers: ["\u{3}"])
        #expect(declined.status == 1 && declined.shows("Cancelled; nothing was done."), "\(declined.screen)")
        func get() throws -> PlayedTerminal {
            try stage.helperOnTerminal(name, ["get"], input: Self.server, answers: [PrivateDaemon.passcode])
        }
        let kept = try get()
        #expect(kept.shows(#""Username":"me","Secret":"former""#), "\(kept.screen)")
        // That passcode has opened the store, so nobody is needed to replace the secret.
        #expect(try stage.docker("store", input: Self.document).status == 0)
        #expect(try stage.docker("get", input: Self.server).status == 1, "it is under the rule")
        let replaced = try get()
        #expect(replaced.shows("asscode: ") && replaced.shows(#""Secret":"p\"ss""#), "\(replaced.screen)")
        #expect(try stage.itemCount(by: command) == 1)
    }

    @Test func `servers that differ in a port, a path or a scheme are different`() throws {
        let stage = try CredentialStage()
        let servers = ["localhost", "localhost:5000", "http://localhost:5000", "localhost:5000/v2", "LOCALHOST"]
        for server in servers {
            let document = "{\"ServerURL\":\"\(server)\",\"Username\":\"me\",\"Secret\":\"of \(server)\"}"
            #expect(try stage.docker("store", input: document).status == 0)
        }
        for server in servers {
            #expect(try stage.docker("get", input: server).output.contains("\"of \(server)\""), "\(server)")
        }
    }
}
