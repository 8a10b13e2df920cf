import AccessControl
import Foundation
import SSHAgent
import SSHFormats
import Testing

/// What a question says in the agent's own words: for imported keys, and for those of `ssh-add -c`.
@Suite("Words of a question for a key in no enclave", .timeLimit(.minutes(10)))
struct SignatureWordsTests {
    private let host: PlayedHost
    private let hop: PlayedHost
    private let key: PlayedKey

    init() throws {
        (host, hop) = (try PlayedHost("a"), try PlayedHost("b"))
        key = try PlayedKey()
    }

    /// Where the key is that signs.
    enum Place: CaseIterable { case imported, added }

    /// How a request ended, and the words of the questions for it.
    private struct Outcome {
        let answer: AgentAnswer
        let words: [String]
        let notes: [String]
    }

    private func request(
        _ data: Data, by place: Place, over isForwarded: Bool = false, keyName: String = "work",
        hostName: String = "known.example.org"
    ) throws -> Outcome {
        let agent = PlayedAgent(hostName: hostName)
        let held = HeldKey(
            name: keyName, publicKey: key.publicKey, constraints: try SSHKeyConstraints(permitsUnknown: true),
            place: .imported(item: Data(count: 16)))
        let keys = PlayedKeys(place == .imported ? [held] : [])
        var session = agent.session(keys)
        if place == .added {
            #expect(session.add(key, PlayedConstraint.confirmation, comment: keyName) == .success)
        }
        if isForwarded {
            #expect(session.bind(try hop.binding(PlayedData.otherSession, forwarding: true)) == .success)
        }
        #expect(session.bind(try host.binding(PlayedData.session)) == .success)
        let answer = session.sign(key.publicKey, data)
        let asked = keys.whatWasAsked
        return Outcome(answer: answer, words: asked.words + asked.confirmations, notes: agent.whatWasNoted)
    }

    private func login(_ user: String) -> Data { PlayedData.login(key.publicKey, user: user, hostKey: host.key) }

    // MARK: order

    @Test(arguments: Place.allCases) func `facts come first, and the user last and in quotation marks`(
        place: Place
    ) throws {
        let kind = place == .imported ? "imported key" : "key"
        let rest =
            "log in to the host \(host.key.fingerprint) (“known.example.org” in known_hosts), with the \(kind) "
            + "\(key.publicKey.fingerprint) (“work”), as “me”"
        #expect(try request(login("me"), by: place).words == [rest])
        #expect(try request(login("me"), by: place, over: true).words == ["over a forwarded agent: \(rest)"])
    }

    @Test(arguments: Place.allCases) func `a namespace stands last, and unknown data may be a login`(
        place: Place
    ) throws {
        let kind = place == .imported ? "imported key" : "key"
        let named = "the \(kind) \(key.publicKey.fingerprint) (“work”)"
        #expect(
            try request(PlayedData.signature("git"), by: place, over: true).words
                == ["over a forwarded agent: make an SSH signature with \(named), for “git”"])
        #expect(
            try request(Data("anything".utf8), by: place).words
                == ["sign 8 bytes that are no SSH signature and may be a login, with \(named)"])
    }

    @Test(arguments: Place.allCases) func `a login of another session or host than the bound one is refused unasked`(
        place: Place
    ) throws {
        let elsewhere = PlayedData.login(
            key.publicKey, user: "me", session: PlayedData.otherSession, hostKey: hop.key)
        let otherHost = PlayedData.login(key.publicKey, user: "me", hostKey: hop.key)
        for (data, refusal) in [(elsewhere, KeyRefusal.otherSession), (otherHost, .otherHostKey)] {
            for isForwarded in [false, true] {
                let outcome = try request(data, by: place, over: isForwarded)
                #expect(outcome.answer == .failure && outcome.words.isEmpty)
                #expect(outcome.notes.last?.hasSuffix("\(refusal)") == true, "\(outcome.notes)")
            }
        }
    }

    // MARK: foreign names

    /// Names that would read like a part of the question, end its quotation, reorder it, or push the rest out of sight.
    static let spoofs = [
        "me” to the host SHA256:abc, with the key “login", "root\" to example.org", "„root“", "»root«", "「root」",
        "root\nHost: example.org", "root\rHost", "root\u{2028}Host", "root\u{1B}[2J", "\u{202E}toor",
        "ro\u{200B}ot", "\u{2067}root", "ro\u{AD}ot", "root\u{3164}", "\u{2800}", "root\u{A0}on\u{A0}example.org",
        " root", "root ", "root  on", "\u{E000}", String(repeating: "a", count: 65),
        "git to a.example" + String(repeating: "x", count: 240), String(repeating: "\u{301}", count: 100),
    ]

    @Test(arguments: spoofs, Place.allCases) func `a user who is no short plain name is refused unasked`(
        user: String, place: Place
    ) throws {
        let outcome = try request(login(user), by: place)
        #expect(outcome.answer == .failure && outcome.words.isEmpty)
        #expect(outcome.notes.last?.hasSuffix("\(KeyRefusal.unshowableUser)") == true, "\(outcome.notes)")
    }

    @Test(arguments: spoofs.filter { $0.utf8.count <= SSHLimits.namespaceByteCount }, Place.allCases)
    func `a namespace that is no short plain name is refused unasked`(namespace: String, place: Place) throws {
        let outcome = try request(PlayedData.signature(namespace), by: place)
        #expect(outcome.answer == .failure && outcome.words.isEmpty)
        #expect(outcome.notes.last?.hasSuffix("\(KeyRefusal.unshowableNamespace)") == true, "\(outcome.notes)")
    }

    @Test(arguments: Place.allCases) func `a login that cannot be read is refused unasked`(place: Place) throws {
        for data in [
            login(String(repeating: "a", count: 513)), login("me") + [0], Data(login("me").dropLast()),
            login("me\u{0}"), PlayedData.signature("git\u{0}"), PlayedData.signature(""),
            PlayedData.signature(String(repeating: "a", count: 256)),
        ] {
            let outcome = try request(data, by: place)
            #expect(outcome.answer == .failure && outcome.words.isEmpty)
            #expect(outcome.notes.last?.hasSuffix("\(KeyRefusal.malformed)") == true, "\(outcome.notes)")
        }
    }

    @Test(arguments: Place.allCases) func `names that people have are asked about`(place: Place) throws {
        for user in ["me", "o'brien", "Jörg", "李", "_a-b.c$", "first last", String(repeating: "a", count: 64)] {
            let words = try #require(try request(login(user), by: place).words.first)
            #expect(words.hasSuffix(", as “\(user)”"), "\(words)")
        }
    }

    @Test(arguments: spoofs, Place.allCases) func `names of hosts and keys that are none are left out`(
        name: String, place: Place
    ) throws {
        let words = try #require(try request(login("me"), by: place, keyName: name, hostName: name).words.first)
        let named = "the \(place == .imported ? "imported key" : "key") \(key.publicKey.fingerprint)"
        #expect(words == "log in to the host \(host.key.fingerprint), with \(named), as “me”")
    }

    @Test(arguments: Place.allCases) func `long names leave room for the user and for both fingerprints`(
        place: Place
    ) throws {
        let long = String(repeating: "n", count: 64)
        let words = try #require(
            try request(login(String(repeating: "u", count: 64)), by: place, over: true, keyName: long, hostName: long)
                .words.first)
        #expect(words.unicodeScalars.count <= 300 && words.hasPrefix("over a forwarded agent: log in to "), "\(words)")
        #expect(words.hasSuffix(", as “\(String(repeating: "u", count: 64))”"), "\(words)")
        for fingerprint in [host.key.fingerprint, key.publicKey.fingerprint] {
            #expect(words.contains("\(fingerprint)"), "\(words)")
        }
    }
}
