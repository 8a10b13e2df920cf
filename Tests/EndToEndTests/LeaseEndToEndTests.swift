import DaemonTestSupport
import Foundation
import Testing

/// Leases with the command on a terminal and without one, against the real daemon.
@Suite("Leases, end to end", .serialized)
struct LeaseEndToEndTests {
    private static let passcode = PrivateDaemon.passcode
    private static let files = (1...20).map { "commit-\($0)" }
    private let daemon: PrivateDaemon

    init() throws {
        daemon = try PrivateDaemon(.withPasscode)
        for file in Self.files {
            try Data("the text of \(file)".utf8).write(to: daemon.folder.appendingPathComponent(file))
        }
        let made = try ostiary(
            ["right", "create", "commits", "--require", "passcode", "--confirm-each", "--allow-leases"])
        try #require(made.status == 0, "\(made.screen)")
    }

    private func ostiary(_ arguments: [String], answers: [String] = []) throws -> PlayedTerminal {
        try PlayedTerminal(BuiltProgram.named("ostiary"), arguments, answers: answers, in: daemon, timeout: 300)
    }

    /// Signs one file without a terminal anywhere.
    private func signAlone(_ file: String = files[0]) throws -> (status: Int32, output: String) {
        let run = try UnattendedRun(
            BuiltProgram.named("ostiary"), ["right", "sign", "commits", file, "--output", "alone.sig", "--force"],
            in: daemon)
        return (run.status, run.output)
    }

    private func questions(_ run: PlayedTerminal) -> Int {
        run.screen.components(separatedBy: "Ostiary asks for your passcode.").count - 1
    }

    private func objects(_ arguments: String...) throws -> [String: Any] {
        let run = try ostiary(arguments)
        return try #require(
            JSONSerialization.jsonObject(with: Data(run.screen.utf8)) as? [String: Any], "\(run.screen)")
    }

    private func leases() throws -> [[String: Any]] {
        try #require(objects("lease", "list", "--json")["leases"] as? [[String: Any]])
    }

    /// The records of signatures: what became of each, and under which lease.
    private func signatures() throws -> [(result: String, lease: String?, reason: String)] {
        try ostiary(["log", "--json"]).screen.split(whereSeparator: \.isNewline).compactMap { line in
            let record = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            guard record?["event"] as? String == "sign" else { return nil }
            return (record?["result"] as? String ?? "", record?["lease"] as? String, record?["reason"] as? String ?? "")
        }
    }

    @Test func `twenty signatures are twenty questions, and one when the answer counts twenty times`() throws {
        let sign = ["right", "sign", "commits"] + Self.files + ["--force"]
        let without = try ostiary(sign, answers: Array(repeating: Self.passcode, count: 20))
        #expect(without.status == 0 && questions(without) == 20, "\(without.screen)")
        #expect(try leases().isEmpty)

        let under = try ostiary(sign, answers: ["\u{C}\u{C}" + Self.passcode])
        #expect(under.status == 0 && questions(under) == 1, "\(under.screen)")
        #expect(under.shows("Counts once. Ctrl-L: for 10 minutes, then 20 times."), "\(under.screen)")
        let lease = try #require(try leases().first)
        let id = try #require(lease["id"] as? String)
        #expect(lease["useCount"] as? Int == 19 && lease["usesLeft"] as? Int == 1)
        #expect(lease["endsOnLock"] as? Bool == true && lease["operations"] as? [String] == ["sign"])
        #expect(try signatures().filter { $0.lease == id }.count == 19)

        let status = try ostiary(["status"])
        #expect(status.shows("Lease \(id)"), "\(status.screen)")
        #expect(try (objects("status", "--json")["leases"] as? [Any])?.count == 1)
    }

    @Test func `a lease that was granted beforehand serves a program without a terminal, until it ends`() throws {
        #expect(try signAlone().status == 3)
        let program = BuiltProgram.named("ostiary").path
        let grant = ["lease", "grant", "commits", "--for", program, "--uses", "2", "--purpose", "the nightly commit"]
        let granted = try ostiary(grant, answers: [Self.passcode])
        #expect(granted.status == 0 && questions(granted) == 1, "\(granted.screen)")
        #expect(granted.shows("let a program use it without asking") && granted.shows("the nightly commit"))
        for _ in 1...2 { #expect(try signAlone().status == 0) }
        let refused = try signAlone()
        #expect(refused.status == 3 && refused.output.contains("no use left"), "\(refused.output)")

        #expect(try ostiary(grant, answers: [Self.passcode]).status == 0)
        #expect(try signAlone().status == 0)
        #expect(try ostiary(["lock"]).status == 0)
        #expect(try signAlone().output.contains("ended with a lock"))

        #expect(try ostiary(grant, answers: [Self.passcode]).status == 0)
        let revoked = try ostiary(["lease", "revoke", "--all"])
        #expect(revoked.status == 0 && revoked.screen.contains("Ended 1 lease."), "\(revoked.screen)")
        #expect(try signAlone().output.contains("was revoked"))
        #expect(
            Set(try signatures().filter { $0.result == "refused" && $0.lease != nil }.map(\.reason))
                == ["lease.used-up", "lease.locked", "lease.revoked"])
    }

    @Test func `a lease is one program's, and nobody's without an answer`() throws {
        let other = ["lease", "grant", "commits", "--for", "/usr/bin/git"]
        #expect(try ostiary(other, answers: ["\u{3}"]).status == 3)
        #expect(try leases().isEmpty)
        #expect(try ostiary(other, answers: [Self.passcode]).status == 0)
        #expect(try signAlone().output.contains("another program's"))
        for arguments in [
            ["lease", "grant", "commits", "--for", "/bin/sh"], ["lease", "grant", "none", "--for", "/usr/bin/git"],
            ["lease", "grant", "commits", "--for", "/usr/bin/git", "--no-ends-on-lock"],
        ] {
            let refused = try ostiary(arguments)
            #expect(refused.status == 1 && questions(refused) == 0, "\(refused.screen)")
        }
    }
}
