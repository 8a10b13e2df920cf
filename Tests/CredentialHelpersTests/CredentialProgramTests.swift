import AccessControl
import CommandFailures
import DoorSupport
import Testing

@testable import CredentialHelpers

/// The command lines that git and docker give.
@Suite("The command line of the credential helper")
struct CredentialProgramTests {
    private func action(_ words: String...) throws -> CredentialProgram.Action {
        try CredentialProgram(arguments: words).action
    }

    private static let passcode = PlacedRule(.factor(.passcode), isAtTrustedPlace: false)

    @Test func `the name, or the first word, says whose helper it is`() throws {
        #expect(try action("git-credential-ostiary", "get") == .git(.get, rule: nil))
        #expect(try action("/usr/bin/git-credential-ostiary", "store") == .git(.store, rule: nil))
        #expect(try action("docker-credential-ostiary", "list") == .docker(.list))
        #expect(try action("ostiary-credential-helper", "git", "erase") == .git(.erase, rule: nil))
        #expect(try action("/x/anything", "docker", "version") == .docker(.version))
        #expect(
            try CredentialProgram(arguments: ["a/docker-credential-ostiary", "get"]).name == "docker-credential-ostiary"
        )
    }

    @Test func `a rule stands before git's word`() throws {
        #expect(try action("git-credential-ostiary", "--require", "passcode", "get") == .git(.get, rule: Self.passcode))
        for words in [
            ["--require"], ["--require", "get"], ["--require", "nonsense", "get"], ["get", "--require", "passcode"],
        ] {
            let error = #expect(throws: DoorFailure.self) {
                try CredentialProgram(arguments: ["git-credential-ostiary"] + words)
            }
            #expect(error?.code == -164 && error?.exitStatus == .usage, "\(words)")
        }
    }

    @Test func `a word of a later git does nothing, and none or two are wrong usage`() throws {
        #expect(try action("git-credential-ostiary", "capability") == .nothing)
        for words in [[], ["get", "get"]] {
            #expect(throws: DoorFailure.usage("")) {
                try CredentialProgram(arguments: ["git-credential-ostiary"] + words)
            }
        }
    }

    @Test func `docker is told of wrong words in its own texts`() {
        typealias Known = DockerCredentialHelper.KnownFailure
        #expect(throws: Known("Unknown credential action `fill`")) {
            try CredentialProgram(arguments: ["docker-credential-ostiary", "fill"])
        }
        for words in [[], ["get", "get"]] {
            #expect(throws: Known("Usage: docker-credential-ostiary <store|get|erase|list|version>")) {
                try CredentialProgram(arguments: ["docker-credential-ostiary"] + words)
            }
        }
        #expect(DockerCredentialHelper.Message.notFound == "credentials not found in native keychain")
        #expect(DockerCredentialHelper.Message.missingServer == "no credentials server URL")
        #expect(DockerCredentialHelper.Message.missingUsername == "no credentials username")
    }

    @Test func `a name and a word of nobody's are wrong usage`() {
        for arguments in [[], ["ostiary-credential-helper"], ["x", "svn", "get"], ["git-credential-ostiary2", "get"]] {
            #expect(throws: DoorFailure.usage("")) { try CredentialProgram(arguments: arguments) }
        }
    }

    @Test func `help and version are asked of nobody`() throws {
        for name in ["git-credential-ostiary", "docker-credential-ostiary", "ostiary-credential-helper"] {
            #expect(try action(name, "--help") == .help)
            #expect(try action(name, "--version") == .version)
        }
    }
}
