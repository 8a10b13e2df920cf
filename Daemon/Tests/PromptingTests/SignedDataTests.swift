import Crypto
import Foundation
@testable import PromptProgram
@testable import PromptProtocol
import Testing
@testable import ostiary_prompt

/// What a question shows of the data that will be signed.
@Suite struct SignedDataTests {
    private static func digest(_ data: Data) -> Data { Data(SHA256.hash(data: data)) }

    private static func shown(_ data: Data) -> PromptSignedData { PromptSignedData(data, digest: digest(data)) }

    private static func text(_ data: String) -> String? {
        guard case .text(let text) = shown(Data(data.utf8)).form else { return nil }
        return text.string
    }

    @Test(arguments: [
        ("Pay 100 EUR to Alice", "Pay 100 EUR to Alice"), ("Pay 100\n", #"Pay 100\u{a}"#),
        ("a\tb\r\nc", #"a\u{9}b\u{d}\u{a}c"#), ("żółw 🐢 日本語", "żółw 🐢 日本語"), (" ", #"\u{20}"#),
        ("a  b ", #"a \u{20}b\u{20}"#), ("100\u{202E}001", #"100\u{202e}001"#), ("a\u{200B}b", #"a\u{200b}b"#),
        ("\u{FEFF}a", #"\u{feff}a"#), ("a” and “b", #"a\u{201d} and \u{201c}b"#), (#"a\u{a}"#, #"a\\u{a}"#),
        ("e\u{301}", #"e\u{301}"#),
    ])
    func `text is shown as text, with all that hides in it written out`(_ data: String, _ shown: String) {
        #expect(Self.text(data) == shown)
    }

    @Test func `texts that differ never look alike`() {
        let texts = [
            "a b", "a  b", "a\u{A0}b", "a\u{200B}b", "ab", "ab ", "ab\n", "a\\u{20}b", "e\u{301}", "é", "a\tb",
        ]
        #expect(Set(texts.compactMap(Self.text)).count == texts.count)
    }

    @Test(arguments: [
        Data(), Data([0xFF, 0xFE]), Data("a\u{0}b".utf8), Data("a\u{1B}[2J".utf8), Data("a\u{9B}b".utf8),
        Data([0xC3]), Data([0xED, 0xA0, 0x80]), Data(count: 2048),
    ])
    func `other data is shown by its size`(_ data: Data) {
        #expect(Self.shown(data).form == .data(byteCount: data.count))
    }

    @Test func `a text is shown in full or not at all`() {
        #expect(Self.text(String(repeating: "a", count: 300)) == String(repeating: "a", count: 300))
        #expect(Self.text(String(repeating: "a", count: 301)) == nil)
        #expect(Self.text(String(repeating: "🐢", count: 300)) != nil)
        #expect(Self.text(String(repeating: "\n", count: 61)) == nil, "each is written out with five characters")
    }

    @Test func `the digest stands in groups of four digits`() {
        #expect(
            Self.shown(Data("abc".utf8)).digest.string
                == "ba78 16bf 8f01 cfea 4141 40de 5dae 2223 b003 61a3 9617 7a9c b410 ff61 f200 15ad")
    }

    private static func text(of data: PromptSignedData) -> PromptText {
        PromptText(
            request: PromptRequest(
                question: PromptQuestion(
                    .enterPasscode, objects: PromptObjects(DisplayText(fact: "transfers")),
                    operation: DisplayText("sign once"), signedData: data, reason: DisplayText("to pay"),
                    isShownInFull: true),
                program: DisplayText(fact: "/usr/bin/asker"), processID: 77, frontEnd: .terminal, timeLimitSeconds: 60))
    }

    @Test func `a terminal shows text, digest and the program's words apart`() throws {
        let text = Self.text(of: Self.shown(Data("Pay 100 EUR to Alice\n".utf8)))
        let lines = try #require(TerminalLayout(text: text, width: 80)).lines
        #expect(lines.contains(#"  Signs     the text “Pay 100 EUR to Alice\u{a}”"#), "\(lines)")
        let first = try #require(lines.firstIndex { $0.hasPrefix("  SHA-256   ") })
        let digest = lines[first...(first + 1)].joined().split(separator: " ").dropFirst().joined()
        #expect(digest == Self.digest(Data("Pay 100 EUR to Alice\n".utf8)).map { String(format: "%02x", $0) }.joined())
        #expect(text.spoken.contains("Signs: the text “Pay 100 EUR"))
    }

    @Test func `data and a digest alone are told apart`() throws {
        let data = Data(count: 2048)
        let lines = try #require(TerminalLayout(text: Self.text(of: Self.shown(data)), width: 80)).lines
        #expect(lines.contains("  Signs     2048 bytes of data, which cannot be shown"), "\(lines)")
        let only = PromptSignedData(digestOnly: Self.digest(data))
        #expect(only.digest == Self.shown(data).digest)
        let other = try #require(TerminalLayout(text: Self.text(of: only), width: 80)).lines
        #expect(other.contains("  Signs     a digest only; the program keeps the data to itself"), "\(other)")
    }

    // MARK: SSH

    private static let fingerprint = "SHA256:" + String(repeating: "A", count: 43)

    private static func ssh(
        _ purpose: PromptSSHFacts.Purpose, key: String? = nil, name: PromptSSHFacts.HostName? = nil,
        forwardedBy forwarders: [String] = []
    ) -> PromptSignedData {
        let facts = PromptSSHFacts(
            purpose, hostKey: key.map { DisplayText(fact: $0) }, hostName: name,
            forwarders: forwarders.map { DisplayText(fact: $0) })
        return PromptSignedData(facts, digest: Data(count: 32))
    }

    private static let login = PromptSSHFacts.Purpose.login(
        user: DisplayText(fact: "ada”"), service: DisplayText(fact: "ssh-connection"))

    @Test(
        arguments: [
            (
                ssh(login, key: fingerprint, name: .claimed(DisplayText("build” host"))),
                [
                    #"  Signs     a login as “ada\u{201d}” (ssh-connection)"#, "  Host key  \(fingerprint)",
                    "  Host      “build\" host”, not checked",
                ]
            ),
            (
                ssh(login, key: fingerprint, name: .ofOwner(DisplayText(fact: "build")), forwardedBy: [fingerprint]),
                [
                    "  Host      “build”, as you named it", "  Forwarded yes; another host may have asked",
                    "  By        \(fingerprint)",
                ]
            ),
            (
                ssh(.unknown, forwardedBy: ["SHA256:a", "SHA256:b", "SHA256:c", "SHA256:d"]),
                ["  By        SHA256:a, … (4), SHA256:d"]
            ),
            (ssh(login), ["  Host key  not known; it may be any host"]),
            (
                ssh(.signature(namespace: DisplayText(fact: "git"))), ["  Signs     an SSH signature for “git”"]
            ),
            (ssh(.unknown), ["  Signs     unknown data, which may be a login"]),
        ] as [(PromptSignedData, [String])])
    func `a terminal shows what a signature for SSH is for`(_ data: PromptSignedData, _ expected: [String]) throws {
        let text = Self.text(of: data)
        let lines = try #require(TerminalLayout(text: text, width: 80)).lines
        for line in expected { #expect(lines.contains(line), "\(line)\n\(lines)") }
        #expect(lines.contains { $0.hasPrefix("  SHA-256   ") })
        // A window says the same, and marks the program's own words.
        let sheet = SheetText(request: text.request, phrases: .english)
        let said = sheet.facts.map { "\($0.label) \($0.lines.joined())" }.map(PhraseBook.withoutIsolates)
        for line in expected {
            let words = line.split(separator: " ").joined(separator: " ")
            #expect(said.contains(words), "\(words)\n\(said)")
        }
        #expect(
            sheet.facts.contains { $0.isOfProgram && $0.label == "Host" }
                == expected.contains { $0.hasSuffix("not checked") })
    }

    @Test func `a question with signed data survives its way to the prompt`() throws {
        for data in [
            Self.shown(Data("a\n“".utf8)), Self.shown(Data(count: 9)), PromptSignedData(digestOnly: Data(count: 32)),
            Self.ssh(
                Self.login, key: Self.fingerprint, name: .claimed(DisplayText("a")), forwardedBy: [Self.fingerprint]),
            Self.ssh(.signature(namespace: DisplayText(fact: "git"))), Self.ssh(.unknown),
        ] {
            let request = Self.text(of: data).request
            #expect(try PromptRequest(decoding: request.encoded()) == request)
        }
    }

    @Test func `a dialog that lacks room for all of it is not opened`() {
        let text = Self.text(of: Self.shown(Data(String(repeating: "ż", count: 300).utf8)))
        #expect(PinentryDescription(text, showsAll: true).text(within: 400) == nil)
        #expect(
            PinentryDescription(text, showsAll: true).text(within: 4000)?.contains(String(repeating: "ż", count: 300))
                == true)
    }
}
