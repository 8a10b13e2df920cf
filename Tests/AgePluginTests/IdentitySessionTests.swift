import Foundation
import SecretMemory
import Testing

@testable import AgePlugin

/// Sessions of `identity-v1` with an age that a test plays.
@Suite struct IdentitySessionTests {
    private let keys = PlayedKeys()

    private func run(_ commands: String..., answers: String? = nil) throws -> [Said] {
        let age = answers.map { PlayedAge(commands.joined(), answers: $0) } ?? PlayedAge(commands.joined())
        try IdentitySession.run(age, keys)
        return try age.said
    }

    private func add(_ identity: AgeIdentity) -> String { text("add-identity", identity.text) }

    private func wrap(_ key: Data = fileKey, for identity: AgeIdentity) throws -> TaggedStanza {
        try keys.recipient(of: identity).wrap(SecretBytes(key))
    }

    private func opened(_ file: Int, _ key: Data = fileKey) -> Said { Said(words: "file-key \(file)", body: key) }
    private let end = Said(words: "done", body: Data())

    private let foreign =
        text("recipient-stanza", "0", "X25519", "O6DLx/wDIawpUC978NSPjYvrfDtJVnZApXKp4FMPHCY", body: Data(count: 32))
        + text("recipient-stanza", "0", "x-grease", "~~~", body: Data(count: 99))

    // MARK: one question

    @Test(arguments: TaggedKind.allCases) func `ten files are one question`(kind: TaggedKind) throws {
        let identity = try keys.make(kind)
        let all = (0..<10).map { Data(repeating: UInt8($0), count: 16) }
        let commands = try all.enumerated().map { try wrap($1, for: identity).command(ofFile: $0) }
        let said = try run(add(identity), commands.joined(), done)
        #expect(said == all.enumerated().map { opened($0, $1) } + [end])
        #expect(keys.questions(for: identity) == [10])
    }

    @Test func `a file with many stanzas is one question, and its key is said once`() throws {
        let (identity, other) = (try keys.make(.p256), try keys.make(.p256))
        let stanzas = try (0..<5).map { _ in try wrap(for: identity).command(ofFile: 0) }
        let others = try (0..<5).map { _ in try wrap(for: other).command(ofFile: 0) }
        #expect(try run(add(identity), foreign, (others + stanzas).joined(), done) == [opened(0), end])
        #expect(keys.questions(for: identity) == [1] && keys.questionCount == 1)
    }

    @Test func `nobody is asked for a file of others, and nothing is said of it`() throws {
        let (identity, other) = (try keys.make(.p256), try keys.make(.hybrid))
        #expect(try run(add(identity), foreign, wrap(for: other).command(ofFile: 0), done) == [end])
        #expect(try run(foreign, done) == [end])
        #expect(try run(add(identity), done) == [end])
        #expect(keys.questionCount == 0)
    }

    @Test func `stanzas that have the tag and do not open are tried a few times only`() throws {
        let identity = try keys.make(.p256)
        let good = try wrap(for: identity)
        let changed = TaggedStanza(
            .p256, tag: good.tag, encapsulated: good.encapsulated, ciphertext: Data(good.ciphertext.reversed()))
        func said(changedCount: Int) throws -> [Said] {
            let hostile = String(repeating: changed.command(ofFile: 0), count: changedCount)
            return try run(add(identity), hostile, good.command(ofFile: 0), done)
        }
        #expect(try said(changedCount: StanzaLimits.attemptCount - 1) == [opened(0), end])
        let refused = try said(changedCount: StanzaLimits.attemptCount)
        #expect(refused.count == StanzaLimits.attemptCount + 1 && refused.last == end)
        #expect(refused.dropLast().allSatisfy { $0.words.hasPrefix("error stanza 0 ") })
    }

    // MARK: refusals

    @Test func `a refused question is one question, and age hears why once`() throws {
        let (identity, other) = (try keys.make(.p256), try keys.make(.p256))
        keys.refuse(identity, "The question was cancelled.")
        let commands = try (0..<3).map { try wrap(for: identity).command(ofFile: $0) }
        let said = try run(add(other), add(identity), commands.joined(), done)
        #expect(said == [Said(words: "error identity 1", body: Data("The question was cancelled.".utf8)), end])
        #expect(keys.questions(for: identity) == [3] && keys.questionCount == 1)
    }

    @Test func `a refused identity does not matter where another one opens all files`() throws {
        let (refused, identity) = (try keys.make(.p256), try keys.make(.hybrid))
        keys.refuse(refused, "The question was cancelled.")
        let file = try wrap(for: refused).command(ofFile: 0) + wrap(for: identity).command(ofFile: 0)
        #expect(try run(add(refused), add(identity), file, done) == [opened(0), end])
    }

    @Test func `an identity that is none keeps all files closed, and each is named`() throws {
        let identity = try keys.make(.p256)
        let said = try run(
            text("add-identity", "AGE-PLUGIN-YUBIKEY-1QQQ"), add(identity),
            text("add-identity", identity.text + "q"), wrap(for: identity).command(ofFile: 0), done)
        #expect(said.map(\.words) == ["error identity 0", "error identity 2", "done"])
        #expect(said.allSatisfy { $0 == end || $0.text.contains("Nothing was decrypted") })
        #expect(keys.questionCount == 0)
    }

    @Test(arguments: TaggedKind.allCases)
    func `a malformed stanza keeps its file closed unasked, and the other files open`(kind: TaggedKind) throws {
        let identity = try keys.make(kind)
        let good = try wrap(for: identity)
        let malformed = text(["recipient-stanza", "0"] + good.words, body: good.ciphertext.dropLast())
        let said = try run(
            add(identity), foreign, good.command(ofFile: 0), malformed, good.command(ofFile: 1), done)
        #expect(said.map(\.words) == ["error stanza 0 3", "file-key 1", "done"])
        #expect(said[0].text.contains("32 bytes") && said[0].text.contains("get the file again"))
        #expect(keys.questions(for: identity) == [1])
    }

    @Test(arguments: TaggedKind.allCases)
    func `a stanza that has the tag and does not open is to blame`(kind: TaggedKind) throws {
        let identity = try keys.make(kind)
        let good = try wrap(for: identity)
        let changed = TaggedStanza(
            kind, tag: good.tag, encapsulated: good.encapsulated, ciphertext: Data(good.ciphertext.reversed()))
        let said = try run(add(identity), foreign, changed.command(ofFile: 0), done)
        #expect(said.map(\.words) == ["error stanza 0 2", "done"] && said[0].text.contains("does not open"))
        #expect(try run(add(identity), changed.command(ofFile: 0), good.command(ofFile: 0), done) == [opened(0), end])
    }

    @Test func `a wrong tag is a file of others`() throws {
        let identity = try keys.make(.p256)
        let good = try wrap(for: identity)
        let other = TaggedStanza(
            .p256, tag: Data(good.tag.map { ~$0 }), encapsulated: good.encapsulated, ciphertext: good.ciphertext)
        #expect(try run(add(identity), other.command(ofFile: 0), done) == [end])
        #expect(keys.questionCount == 0)
    }

    // MARK: the protocol

    @Test func `files may have any rising numbers`() throws {
        let identity = try keys.make(.p256)
        let stanza = try wrap(for: identity)
        let commands = [3, 3, 7, 4096].map { stanza.command(ofFile: $0) }.joined()
        #expect(try run(commands, add(identity), done) == [opened(3), opened(7), opened(4096), end])
    }

    @Test(arguments: ["-1", "+1", "01", "x", "99999999999999999999", "1.0"])
    func `what is no number of a file is refused`(index: String) throws {
        #expect(throws: ConversationError.message(type: "recipient-stanza")) {
            try run(text("recipient-stanza", index, "X25519"), done)
        }
    }

    @Test func `a falling number of a file, and a stanza without type, are refused`() {
        let command = text("recipient-stanza", "1", "X25519")
        for next in [text("recipient-stanza", "0", "X25519"), text("recipient-stanza", "1"), text("recipient-stanza")] {
            #expect(throws: ConversationError.message(type: "recipient-stanza")) { try run(command, next, done) }
        }
    }

    @Test func `unknown messages are ignored, and known ones of another form refused`() throws {
        let identity = try keys.make(.p256)
        let grease = text("grease-1", "a", "b", body: Data([9]))
        #expect(
            try run(grease, add(identity), grease, wrap(for: identity).command(ofFile: 0), grease, done)
                == [opened(0), end])
        for command in [
            text("add-identity"), text("add-identity", "a", "b"), text("add-identity", "a", body: Data([1])),
        ] {
            #expect(throws: ConversationError.message(type: "add-identity")) { try run(command, done) }
        }
    }

    @Test(arguments: ["-> fail\n\n", "-> unsupported\n\n", "-> ok x\n\n", "-> ok\nAA\n"])
    func `another answer than ok ends the session`(answer: String) throws {
        let identity = try keys.make(.p256)
        let commands = try add(identity) + wrap(for: identity).command(ofFile: 0) + done
        #expect(throws: ConversationError.answer) { try run(commands, answers: answer) }
    }

    @Test func `an age that goes away before the end hears of no key`() throws {
        let identity = try keys.make(.p256)
        let commands = try add(identity) + wrap(for: identity).command(ofFile: 0)
        for count in 0..<commands.utf8.count {
            #expect(throws: ConversationError.self) { try run(String(commands.prefix(count)), answers: "") }
        }
        #expect(keys.questionCount == 0)
    }
}
