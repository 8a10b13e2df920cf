import Foundation
import SecretMemory
import Testing

@testable import AgePlugin

/// Sessions of `recipient-v1` with an age that a test plays.
@Suite struct RecipientSessionTests {
    private let keys = PlayedKeys()

    private func run(_ commands: String..., answers: String? = nil) throws -> [Said] {
        let age = answers.map { PlayedAge(commands.joined(), answers: $0) } ?? PlayedAge(commands.joined())
        try RecipientSession.run(age, keys)
        return try age.said
    }

    private let wrap = text("wrap-file-key", body: fileKey)

    private func stanza(_ said: Said) throws -> TaggedStanza? {
        try TaggedStanza(words: said.words.split(separator: " ").dropFirst(2).map(String.init)[...], body: said.body)
    }

    @Test func `each file is wrapped to each recipient and identity, between grease`() throws {
        let (first, second) = (try keys.make(.p256), try keys.make(.p256))
        let grease = text("grease-5f", "77", "1", body: Data([1, 2, 3]))
        let said = try run(
            grease, text("add-recipient", keys.recipient(of: first).text), grease, wrap,
            text("add-identity", second.text), wrap, grease, done)
        #expect(
            said.map { $0.words.split(separator: " ").prefix(2).joined(separator: " ") } == [
                "recipient-stanza 0", "recipient-stanza 0", "recipient-stanza 1", "recipient-stanza 1", "done",
            ])
        for (index, identity) in [first, second, first, second].enumerated() {
            let stanza = try #require(try stanza(said[index]))
            #expect(stanza.isAddressed(to: identity.point))
            try keys.authorize(identity, fileCount: 1)
            #expect(Data(exposing: try stanza.open(with: identity, keys)) == fileKey)
        }
    }

    @Test func `labels are said where age takes them, and only there`() throws {
        for (kind, labels) in [(TaggedKind.p256, "labels"), (.hybrid, "labels postquantum")] {
            let recipient = text("add-recipient", keys.recipient(of: try keys.make(kind)).pluginText)
            let said = try run(recipient, wrap, text("extension-labels"), done)
            #expect(said.count == 3 && said[0].words == labels)
            #expect(try run(recipient, wrap, done).count == 2)
        }
    }

    @Test func `one recipient that is none keeps all from a stanza, and each is named`() throws {
        let good = keys.recipient(of: try keys.make(.p256)).text
        let said = try run(
            text("add-recipient", good), text("add-recipient", "age1other1qqq"), text("add-identity", good),
            text("add-recipient", String(good.dropLast())), wrap, done)
        #expect(said.map(\.words) == ["error recipient 1", "error recipient 2", "error identity 0", "done"])
        #expect(said[0].text.contains("none of Ostiary's") && said[0].text.contains("Nothing was encrypted"))
        #expect(said[1].text.contains("checksum"))
    }

    @Test func `a post-quantum recipient beside another one is refused`() throws {
        let hybrid = text("add-recipient", keys.recipient(of: try keys.make(.hybrid)).text)
        let curve = text("add-recipient", keys.recipient(of: try keys.make(.p256)).text)
        #expect(try run(hybrid, curve, wrap, done).map(\.words) == ["error recipient 1", "done"])
        let identity = text("add-identity", try keys.make(.p256).text)
        #expect(try run(hybrid, identity, wrap, done).map(\.words) == ["error identity 0", "done"])
    }

    @Test(arguments: [
        text("wrap-file-key", body: Data(count: 15)), text("wrap-file-key", body: Data(count: 17)),
        text("wrap-file-key"), text("wrap-file-key", "0", body: Data(count: 16)),
    ])
    func `what is no file key is refused`(command: String) throws {
        #expect(throws: ConversationError.message(type: "wrap-file-key")) { try run(command, done) }
    }

    @Test(arguments: [
        text("add-recipient"), text("add-recipient", "a", "b"), text("add-recipient", "a", body: Data([1])),
        text("add-identity"), text("extension-labels", "x"), text("done", "x"), text("done", body: Data([1])),
    ])
    func `a known message of another form is refused`(command: String) throws {
        let type = String(command.split(whereSeparator: \.isWhitespace)[1])
        #expect(throws: ConversationError.message(type: type)) { try run(command, done) }
    }

    @Test(arguments: ["-> fail\n\n", "-> unsupported\n\n", "-> ok x\n\n", "-> ok\nAA\n"])
    func `another answer than ok ends the session`(answer: String) throws {
        let recipient = text("add-recipient", keys.recipient(of: try keys.make(.p256)).text)
        #expect(throws: ConversationError.answer) { try run(recipient, wrap, done, answers: answer) }
    }

    @Test func `each truncation of what age says is refused`() throws {
        let commands = text("add-recipient", keys.recipient(of: try keys.make(.p256)).text) + wrap + done
        for count in 0..<commands.utf8.count {
            let error = #expect(throws: ConversationError.self) {
                try run(String(commands.prefix(count)), answers: "")
            }
            guard case .malformed(.ended)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    @Test func `more messages than any age sends are refused`() {
        let grease = String(repeating: text("grease"), count: StanzaLimits.stanzaCount)
        #expect(throws: ConversationError.tooMany) { try run(grease, done) }
    }
}
