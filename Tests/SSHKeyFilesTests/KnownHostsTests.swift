import Foundation
import SSHFormats
import SSHKeyFiles
import Testing

/// Lines of `known_hosts` as ssh writes and reads them.
@Suite("Known hosts", .timeLimit(.minutes(10)))
struct KnownHostsTests {
    private let folder: KeyFileFolder
    private let first: SSHPublicKey
    private let second: SSHPublicKey

    init() throws {
        folder = try KeyFileFolder()
        for name in ["first", "second"] { try folder.make(name, "ed25519") }
        (first, second) = (try folder.publicKey("first"), try folder.publicKey("second"))
    }

    @Test func `a host is found by its names, in any case, and by nothing else`() {
        let known = KnownHosts(
            Data(
                """
                # a comment
                Example.org,192.0.2.1 \(first.line) me
                [example.org]:2222 \(second.line)
                broken
                example.org ssh-ed25519 AAAA

                """.utf8))
        #expect(known.keys(of: "example.org") == [first] && known.keys(of: "EXAMPLE.org") == [first])
        #expect(known.keys(of: "192.0.2.1") == [first])
        #expect(known.keys(of: "[example.org]:2222") == [second])
        for other in ["", "example", "example.org.", "ample.org", "[example.org]:22", "example.org,192.0.2.1"] {
            #expect(known.keys(of: other).isEmpty, "\(other)")
        }
        #expect(known.name(of: first) == "Example.org")
    }

    @Test func `ssh-keygen's hashed names are found, and not shown`() throws {
        let path = folder.path("known")
        try Data("example.org \(first.line)\n".utf8).write(to: URL(fileURLWithPath: path))
        try folder.run("ssh-keygen", ["-q", "-H", "-f", path])
        let text = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(text.starts(with: Data("|1|".utf8)))
        let known = KnownHosts(text)
        #expect(known.keys(of: "example.org") == [first])
        #expect(known.keys(of: "example.com").isEmpty)
        #expect(known.name(of: first).isEmpty)
    }

    @Test func `patterns, negations, authorities and revoked keys count as ssh counts them`() {
        let known = KnownHosts(
            Data(
                """
                *.example.org,!bad.example.org \(first.line)
                @cert-authority *.example.net \(second.line)
                @revoked * \(second.line)
                old.example.org \(second.line)
                """.utf8))
        #expect(known.keys(of: "a.example.org") == [first])
        #expect(known.keys(of: "bad.example.org").isEmpty && known.keys(of: "example.org").isEmpty)
        #expect(known.keys(of: "a.example.net").isEmpty)
        #expect(known.keys(of: "old.example.org") == [first], "the revoked key does not count")
        // A line with a pattern names no host.
        #expect(known.name(of: first).isEmpty)
    }

    @Test func `a key that one file revokes is no host's in the other files either, and has no name`() throws {
        try folder.run(
            "ssh-keygen",
            ["-q", "-s", folder.path("first"), "-I", "id", "-h", "-n", "b.example.org", folder.path("second.pub")])
        let certificate = try folder.publicKey("second-cert")
        // The last line of the first file has no end.
        let hosts = Data("a.example.org \(first.line)\nb.example.org \(second.line)".utf8)
        let revocation = Data("@revoked elsewhere.example \(second.line)\n".utf8)
        for files in [[hosts, revocation], [revocation, hosts], [revocation + hosts]] {
            let known = KnownHosts(files: files)
            #expect(known.keys(of: "b.example.org").isEmpty && known.hostKeys(of: "b.example.org").isEmpty)
            #expect(known.hostKeys(of: "*.example.org").map(\.key) == [first])
            #expect(known.name(of: second).isEmpty && known.name(of: certificate).isEmpty)
            #expect(known.name(of: first) == "a.example.org")
        }
        let known = KnownHosts(files: [hosts, Data()])
        #expect(known.hostKeys(of: "*.example.org").map(\.key) == [first, second])
        #expect(known.name(of: second) == "b.example.org" && known.name(of: certificate) == "b.example.org")
    }

    @Test func `a revoked key has no name`() {
        let line = "b.example.org \(second.line)\n"
        #expect(KnownHosts(Data(line.utf8)).name(of: second) == "b.example.org")
        for text in [line + "@revoked * \(second.line)\n", "@revoked b.example.org \(second.line)\n" + line] {
            #expect(KnownHosts(Data(text.utf8)).name(of: second).isEmpty, "\(text)")
        }
    }

    @Test func `a pattern finds the hosts whose names can be read`() {
        let known = KnownHosts(Data("a.example.org \(first.line)\nb.example.com \(second.line)\n".utf8))
        #expect(known.hostKeys(of: "*.example.org").map(\.name) == ["a.example.org"])
        #expect(known.hostKeys(of: "?.example.*").map(\.key) == [first, second])
        #expect(known.hostKeys(of: "b.example.com").map(\.key) == [second])
        #expect(known.hostKeys(of: "*.net").isEmpty)
    }

    @Test(arguments: [
        ("", "", true), ("a", "", false), ("", "*", true), ("abc", "a*c", true), ("abc", "a?c", true),
        ("abc", "a?", false), ("abc", "*b*", true), ("abc", "*d*", false), ("aaa", "*a*a*a*a", false),
        ("--BADUSER", "root", false), ("é", "??", true), ("a*c", "a*c", true), ("abc", "ABC", false),
    ]) func `a pattern matches byte by byte`(name: String, pattern: String, matches: Bool) {
        #expect(NamePattern.matches(name.utf8, pattern.utf8) == matches)
    }

    @Test func `a pattern of many stars takes no long time`() {
        let name = [UInt8](repeating: UInt8(ascii: "a"), count: 255)
        let pattern = Array(repeating: Array("a*".utf8), count: 100).flatMap(\.self) + Array("b".utf8)
        #expect(!NamePattern.matches(name, pattern))
    }
}
