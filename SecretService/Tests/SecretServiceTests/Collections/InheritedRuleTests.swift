import SecretItems
import SecretProgramSupport
import Testing

@testable import SecretService

/// No program gets new items out of the rule that the owner gave `login`: by another default, or by a collection of its own.
@Suite(.timeLimit(.minutes(10))) struct InheritedRuleTests {
    private static let authFailed = "org.freedesktop.DBus.Error.AuthFailed"
    private static let rule = ["rule": "passcode"]
    private let served: ServedSecrets
    private let program: SecretProgram
    private let session: String

    init() throws {
        served = try ServedSecrets()
        program = try served.program()
        session = try program.openSession()
    }

    private func refusal(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch BusProgramError.answered(let name) { return name } catch { return "\(error)" }
    }

    /// What the owner's command leaves for `login`.
    @discardableResult
    private func protectLogin() -> SecretID {
        served.store.add(NewSecret.row(of: "login", label: "Login", attributes: Self.rule))
    }

    private func makeCollection(_ label: String) throws -> String {
        let properties = BusDatum.properties(["org.freedesktop.Secret.Collection.Label": .text(label)])
        let made = try program.call(SecretProgram.root, "Service", "CreateCollection", [properties, .text("")])
        return made[0].text ?? ""
    }

    private func row(_ path: String) throws -> PlayedStore.Row {
        try #require(served.store.rows.first { path.hasSuffix($0.id.description) })
    }

    private func setDefault(_ path: String) throws -> BusProgram.Pending {
        try program.send(SecretProgram.root, "Service", "SetAlias", [.text("default"), .path(path)])
    }

    private func readDefault() throws -> String? {
        try program.call(SecretProgram.root, "Service", "ReadAlias", [.text("default")])[0].text
    }

    @Test func `a new collection begins with the rule and the programs of login, and its row has them`() throws {
        let login = protectLogin()
        served.store.change(login) { $0.contents.attributes = ["rule": "passcode", "only": "/a\n/b", "alias:x": "1"] }
        let made = try row(makeCollection("Own"))
        #expect(made.contents.attributes == ["rule": "passcode", "only": "/a\n/b"] && made.isRuled)
        let item = try program.create(
            "Bank", [:], "a secret", in: SecretProgram.root + "/collection/\(made.id)", session: session)
        #expect(try row(item).isRuled)
        #expect(served.store.questions.isEmpty)
    }

    @Test func `without a rule of login a collection begins without, and nobody is asked for anything`() throws {
        let own = try makeCollection("Own")
        #expect(try row(own).contents.attributes == [:] && !row(own).isRuled)
        _ = try program.bus.answer(setDefault(own))
        #expect(try readDefault() == own)
        _ = try program.bus.answer(setDefault(SecretProgram.login))
        #expect(try readDefault() == SecretProgram.login)
        _ = try program.bus.answer(setDefault(own))
        try program.setProperty(own, "Collection", "Label", .text("New"))
        #expect(try program.call(own, "Collection", "Delete") == [.path("/")])
        #expect(try readDefault() == SecretProgram.login && served.store.questions.isEmpty)
    }

    @Test func `another default asks for the rule that new items would lose`() throws {
        let own = try makeCollection("Own")
        protectLogin()
        let declined = try setDefault(own)
        let question = try served.store.question()
        #expect(question.reason == "have programs store new secrets in the collection “Own”")
        question.end(.declined)
        #expect(refusal { _ = try program.bus.answer(declined) } == Self.authFailed)
        #expect(try readDefault() == SecretProgram.login)
        let item = try program.create(
            "Bank", [:], "a secret", in: SecretProgram.root + "/aliases/default", session: session)
        #expect(try row(item).isRuled && item.hasPrefix(SecretProgram.login))
        let agreed = try setDefault(own)
        try served.store.question().end(.proved)
        _ = try program.bus.answer(agreed)
        #expect(try readDefault() == own)
    }

    @Test func `the default of before asks for its own rule, where login has none`() throws {
        let (first, second) = (try makeCollection("First"), try makeCollection("Second"))
        _ = try program.bus.answer(setDefault(first))
        let id = try row(first).id
        served.store.change(id) { ($0.contents.attributes["rule"], $0.isRuled) = ("passcode", true) }
        for next in [second, SecretProgram.login] {
            let declined = try setDefault(next)
            try served.store.question().end(.declined)
            #expect(refusal { _ = try program.bus.answer(declined) } == Self.authFailed)
            #expect(try readDefault() == first)
        }
        #expect(served.store.questions.count == 2)
    }

    /// A program that writes into the store itself can give a row the name, and not login's row.
    @Test(arguments: [true, false]) func `the name counts only where login's row says so`(isOpen: Bool) throws {
        let own = try makeCollection("Own")
        protectLogin()
        served.store.change(try row(own).id) { $0.contents.attributes["alias:default"] = "1" }
        // Nor does a second row of login.
        _ = served.store.add(
            NewSecret.row(of: "login", label: "x", attributes: ["default": "\(try row(own).id)"]))
        served.store.setOpen(isOpen)
        #expect(try readDefault() == SecretProgram.login)
    }

    @Test func `a collection with a rule is deleted and renamed after its proof alone`() throws {
        protectLogin()
        let own = try makeCollection("Own")
        let delete = { [program] in try program.send(own, "Collection", "Delete") }
        let declined = try delete()
        let question = try served.store.question()
        #expect(question.reason == "delete the collection “Own” of the keyring, with all of its secrets")
        question.end(.declined)
        #expect(refusal { _ = try program.bus.answer(declined) } == Self.authFailed)
        let label = try program.bus.send(
            own, "org.freedesktop.DBus.Properties", "Set", to: SecretProgram.service,
            [.text("org.freedesktop.Secret.Collection"), .text("Label"), .variant(.text("New"))])
        try served.store.question().end(.declined)
        #expect(refusal { _ = try program.bus.answer(label) } == Self.authFailed)
        #expect(try row(own).contents.label == "Own")
        let agreed = try delete()
        try served.store.question().end(.proved)
        _ = try program.bus.answer(agreed)
        #expect(served.store.rows.count == 1)
    }

    @Test func `a collection without a rule asks for those of its items, once`() throws {
        let own = try makeCollection("Own")
        let id = try row(own).id
        for label in ["a", "b"] { _ = served.add(label, [:], "x", isRuled: true, in: "\(id)") }
        _ = served.add("c", [:], "x", in: "\(id)")
        let declined = try program.send(own, "Collection", "Delete")
        try served.store.question().end(.declined)
        #expect(refusal { _ = try program.bus.answer(declined) } == Self.authFailed)
        #expect(served.store.rows.count == 4)
        let agreed = try program.send(own, "Collection", "Delete")
        try served.store.question().end(.proved)
        _ = try program.bus.answer(agreed)
        #expect(served.store.rows.isEmpty && served.store.questions.count == 2)
    }

    @Test func `in a locked store the rule of login is looked at once it is open`() throws {
        protectLogin()
        served.store.setOpen(false)
        let properties = BusDatum.properties(["org.freedesktop.Secret.Collection.Label": .text("Own")])
        let made = try program.call(SecretProgram.root, "Service", "CreateCollection", [properties, .text("")])
        let prompt = try #require(made[1].text)
        try program.show(prompt)
        try served.store.question().end(.proved)
        let completion = try program.completion(of: prompt)
        #expect(try !completion.isDismissed && row(completion.result.text ?? "").isRuled)
        #expect(served.store.questions.count == 1)
    }
}
