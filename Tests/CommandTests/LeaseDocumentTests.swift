import ArgumentParser
import Foundation
import Testing

@testable import OstiaryClient
@testable import ostiary

@Suite("Leases as JSON and text")
struct LeaseDocumentTests {
    private static let since = Date(timeIntervalSince1970: 1_769_860_800)

    private static func lease(
        _ door: LeaseDoor = .none, name: String = "commits", destinations: [String]? = nil, usesLeft: UInt32? = nil,
        endsUnused: Date? = nil, session: LeaseSession? = nil
    ) -> Lease {
        Lease(
            id: 0xab, objects: [.init(id: Data(repeating: 1, count: 16), kind: "right", name: name)],
            program: "/usr/bin/git", door: door, operations: ["sign"], destinations: destinations, purpose: "p",
            factors: ["passcode"], strength: "key-bound", since: since, ends: since + 600, endsUnused: endsUnused,
            useCount: 3, usesLeft: usesLeft, endsOnLock: true, session: session)
    }

    private static func list(_ leases: [Lease], hidden: Int = 0) -> LeaseListDocument {
        LeaseListDocument(LeaseList(leases: leases, hiddenCount: hidden))
    }

    @Test func `a lease has the documented keys, and those of limits only with limits`() throws {
        let text = try JSONOutput.text(
            Self.list([
                Self.lease(
                    .door("/usr/bin/door"), destinations: ["namespace:git"], usesLeft: 17, endsUnused: Self.since + 60),
                Self.lease(.any, session: LeaseSession(id: 7, terminal: "/dev/pts/3")),
            ]), on: .oneLine)
        let object = #"{"id":"AQEBAQEBAQEBAQEBAQEBAQ==","kind":"right","name":"commits"}"#
        #expect(
            text == """
                {"leases":[{"destinations":["namespace:git"],"door":"/usr/bin/door","ends":"2026-01-31T12:10:00.000Z",\
                "endsOnLock":true,"endsUnused":"2026-01-31T12:01:00.000Z","factors":["passcode"],\
                "id":"00000000000000ab","objects":[\(object)],"operations":["sign"],"program":"/usr/bin/git",\
                "purpose":"p","since":"2026-01-31T12:00:00.000Z","strength":"key-bound","useCount":3,"usesLeft":17},\
                {"door":"any","ends":"2026-01-31T12:10:00.000Z","endsOnLock":true,"factors":["passcode"],\
                "id":"00000000000000ab","objects":[\(object)],"operations":["sign"],"program":"/usr/bin/git",\
                "purpose":"p","session":7,"since":"2026-01-31T12:00:00.000Z","strength":"key-bound","terminal":"/dev/pts/3",\
                "useCount":3}]}
                """)
    }

    @Test func `a name cannot imitate a column or a line`() {
        let text = Self.list([Self.lease(name: "a\nb\u{1b}[2J")]).text()
        #expect(text.split(separator: "\n").count == 2 && !text.contains("\u{1b}"))
    }

    @Test func `a lease on one line says who may do what until when`() {
        let summary = LeaseDocument(Self.lease(.door("/usr/bin/door"), usesLeft: 1)).summary
        #expect(
            summary.hasPrefix(
                "00000000000000ab: /usr/bin/git, through /usr/bin/door may sign “commits” for any destination until "
                    + "2026-01-31"))
        #expect(summary.hasSuffix(", 1 use left"))
    }

    @Test func `list and line say that a lease is for any destination, and not where it names some`() {
        let there = LeaseSession(id: 7, terminal: "/dev/pts/3")
        let (open, named) = (Self.lease(session: there), Self.lease(destinations: ["namespace:git"], session: there))
        #expect(LeaseDocument(open).summary.contains(" “commits” for any destination until "))
        #expect(LeaseDocument(named).summary.contains(" “commits” until "))
        #expect(Self.list([open]).text().contains("any"))
        #expect(Self.list([named]).text().contains("namespace:git") && !Self.list([named]).text().contains("any"))
    }

    @Test func `a lease of one session says in which terminal`() {
        let there = Self.lease(session: LeaseSession(id: 7, terminal: "/dev/pts/3"))
        let elsewhere = Self.lease(session: LeaseSession(id: 7, terminal: nil))
        #expect(LeaseDocument(there).summary.hasPrefix("00000000000000ab: /usr/bin/git in /dev/pts/3 may sign"))
        #expect(LeaseDocument(elsewhere).summary.hasPrefix("00000000000000ab: /usr/bin/git in session 7 may sign"))
        #expect(Self.list([there]).text().contains("/dev/pts/3"))
    }

    @Test func `leases that are not shown are counted`() throws {
        #expect(Self.list([Self.lease()]).hint == nil)
        #expect(Self.list([], hidden: 1).hint?.hasPrefix("1 lease of another program is not shown.") == true)
        #expect(Self.list([], hidden: 2).hint?.hasPrefix("2 leases of other programs are not shown.") == true)
        #expect(try JSONOutput.text(Self.list([], hidden: 2), on: .oneLine) == #"{"hidden":2,"leases":[]}"#)
    }

    @Test(arguments: [("90", 90), ("90s", 90), ("10m", 600), ("2h", 7200)] as [(String, UInt32)])
    func `times of a lease have a unit or are seconds`(text: String, seconds: UInt32) {
        #expect(LeaseTime(argument: text)?.seconds == seconds)
    }

    @Test(arguments: ["", "0", "0m", "m", "-1", "1d", "1.5h", "10 m", "1m1s", "4294967295h", "99999999999", "١٠"])
    func `other times are refused`(text: String) { #expect(LeaseTime(argument: text) == nil) }

    @Test(
        arguments: [
            [], ["--for", "git"], ["a"], ["a", "--group", "g", "--for", "git"], ["", "--for", "git"],
            ["a", "--for", "git", "--operation", "delete"], ["a", "--for", "git", "--for-time", "0"],
            ["a", "--for", "git", "--purpose", " "],
        ])
    func `a grant names objects or a group, and a program`(arguments: [String]) {
        #expect(throws: (any Error).self) { try LeaseGrant.parse(arguments) }
    }

    @Test(arguments: [[], ["1"], ["00000000000000ab", "--all"], ["00000000000000zz"]])
    func `a revocation names one lease or all`(arguments: [String]) {
        #expect(throws: (any Error).self) { try LeaseRevoke.parse(arguments) }
    }

    @Test(
        arguments: [
            ["--confirm-each", "--lease-time", "1h"], ["--confirm-each", "--lease-uses", "2"], ["--allow-leases"],
            ["--confirm-each", "--allow-leases", "--lease-uses", "0"],
            ["--confirm-each", "--allow-leases", "--lease-time", "800h"],
        ])
    func `leases belong to what confirms, within the ranges of limits`(options: [String]) {
        #expect(throws: (any Error).self) { try RightCreate.parse(["a"] + options) }
        #expect(throws: (any Error).self) { try KeyCreate.parse(["a"] + options) }
    }

    @Test(
        arguments: [
            ["--without-confirmation", "--allow-leases"], ["--lease-time", "1h"],
            ["--allow-leases", "--lease-uses", "0"],
        ])
    func `leases of a key for SSH belong to its confirmations, too`(options: [String]) {
        #expect(throws: (any Error).self) { try SSHCreate.parse(["a"] + options) }
        #expect(throws: Never.self) { try SSHCreate.parse(["a", "--allow-leases", "--lease-time", "30m"]) }
    }
}
