import DaemonTestSupport
import Foundation
import Testing

/// A rebase of twenty signed commits: what a lease is for. With the real daemon, the agent, git and ssh-keygen.
@Suite("A rebase of signed commits", .serialized, .timeLimit(.minutes(10)))
struct GitRebaseEndToEndTests {
    private static let passcode = PrivateDaemon.passcode
    private static let count = 20
    private let stage: AgentStage

    init() throws { stage = try AgentStage() }

    private func git(_ arguments: String..., answers: [String] = []) throws -> PlayedTerminal {
        try stage.play(
            ["/usr/bin/git", "-C", stage.daemon.path("repository")] + arguments, answers: answers, timeout: 300)
    }

    /// A repository with unsigned commits, whose git signs with a new key.
    private func prepare(_ options: String...) throws {
        let ostiary = BuiltProgram.named("ostiary").path
        let made = try stage.play(
            [ostiary, "ssh", "create", "commits", "--require", "passcode", "--namespace", "git"] + options)
        try #require(made.status == 0, "\(made.screen)")
        try #require(stage.play(["/usr/bin/git", "init", "-q", stage.daemon.path("repository")]).status == 0)
        for (name, value) in [("user.email", "me@example.org"), ("user.name", "Me")] {
            try #require(git("config", name, value).status == 0)
        }
        try #require(stage.ostiary("git", "setup", "commits", "--email", "me@example.org").status == 0)
        for number in 0...Self.count {
            try #require(git("commit", "-q", "--allow-empty", "-m", "\(number)").status == 0)
        }
    }

    /// Signs each commit again, except the first one.
    private func rebase(answers: [String]) throws -> PlayedTerminal {
        try git(
            "rebase", "-q", "--exec", "git commit --amend -q --no-edit --allow-empty -S", "HEAD~\(Self.count)",
            answers: answers)
    }

    private func questions(_ run: PlayedTerminal) -> Int {
        run.screen.components(separatedBy: "Ostiary asks for your passcode.").count - 1
    }

    /// `git verify-commit` of all commits but the first one.
    private func expectAllVerify(_ location: SourceLocation = #_sourceLocation) throws {
        let listed = try git("rev-list", "HEAD~\(Self.count)..HEAD")
        let commits = listed.screen.split(whereSeparator: \.isWhitespace).map(String.init)
        #expect(commits.count == Self.count, "\(listed.screen)", sourceLocation: location)
        for commit in commits {
            let verified = try git("verify-commit", commit)
            #expect(
                verified.status == 0 && verified.shows(#"Good "git" signature for me@example.org"#),
                "\(verified.screen)", sourceLocation: location)
        }
        #expect(try git("verify-commit", "HEAD~\(Self.count)").status != 0, sourceLocation: location)
    }

    /// The signatures in the log that a lease permitted.
    private func records(of lease: String) throws -> Int {
        try stage.log().count { $0["lease"] as? String == lease && $0["operation"] as? String == "SSH signature" }
    }

    @Test func `twenty commits are twenty questions with a key that confirms each signature`() throws {
        try prepare()
        let rebase = try rebase(answers: Array(repeating: Self.passcode, count: Self.count))
        #expect(rebase.status == 0 && questions(rebase) == Self.count, "\(rebase.screen)\(stage.agentLog)")
        #expect(!rebase.screen.contains("Ctrl-L"), "a key without --allow-leases offers a lease: \(rebase.screen)")
        try expectAllVerify()
    }

    @Test func `twenty commits are one question if its answer counts twenty times`() throws {
        try prepare("--allow-leases")
        let rebase = try rebase(answers: ["\u{C}\u{C}" + Self.passcode])
        #expect(rebase.status == 0 && questions(rebase) == 1, "\(rebase.screen)\(stage.agentLog)")
        #expect(rebase.shows("Counts 20 times."), "\(rebase.screen)")
        try expectAllVerify()

        let listed = try stage.runAlone([BuiltProgram.named("ostiary").path, "lease", "list", "--json"])
        let document = try JSONSerialization.jsonObject(with: Data(listed.output.utf8)) as? [String: Any]
        let lease = try #require((document?["leases"] as? [[String: Any]])?.first, "\(listed.output)")
        // The answer itself was the first of the twenty.
        #expect(lease["useCount"] as? Int == Self.count - 1 && lease["usesLeft"] as? Int == 1)
        #expect(lease["destinations"] as? [String] == ["namespace:git"])
        #expect((lease["program"] as? String)?.hasSuffix("/ssh-keygen") == true)
        #expect(try records(of: #require(lease["id"] as? String)) == Self.count - 1)
    }

    @Test func `a lease that was granted beforehand asks nothing during the rebase, and ends with its uses`() throws {
        try prepare("--allow-leases")
        let granted = try stage.ostiary(
            "lease", "grant", "commits", "--for", "/usr/bin/ssh-keygen", "--through", "any", "--host", "namespace:git",
            "--uses", "\(Self.count)", answers: [Self.passcode])
        try #require(granted.status == 0, "\(granted.screen)")
        let rebase = try rebase(answers: [])
        #expect(rebase.status == 0 && questions(rebase) == 0, "\(rebase.screen)\(stage.agentLog)")
        try expectAllVerify()
        let again = try git(
            "commit", "-q", "--amend", "--no-edit", "--allow-empty", "-S", answers: [Self.passcode])
        #expect(again.status == 0 && questions(again) == 1, "\(again.screen)")
    }
}
