import SecretItems
import SecretMemory
import SecretProgramSupport
import Testing

@testable import SecretService

/// Items with the very same attributes: none that another program made takes over the new secret of one with a rule.
@Suite(.timeLimit(.minutes(10))) struct TwinTests {
    private func item(
        _ attributes: [String: String]?, modified: UInt64, _ lock: ListedSecret.Lock = .open, isForSome: Bool = false
    ) -> ListedSecret {
        ListedSecret(
            id: .random(), lock: lock,
            contents: attributes.map { SecretContents(collection: "login", attributes: $0, modified: modified) },
            isForSomePrograms: isForSome)
    }

    @Test func `a replacement takes the best protected of those that are equal`() {
        let ruled = item(["a": "1"], modified: 1, .ruled)
        let only = item(["a": "1"], modified: 2, .ruled, isForSome: true)
        let twin = item(["a": "1"], modified: 9)
        let others = [
            item(["a": "1", "b": "2"], modified: 20, .ruled, isForSome: true), item(["a": "2"], modified: 30),
        ]
        for candidates in [[twin, ruled], [ruled, twin], [ruled, twin] + others, others + [twin, ruled]] {
            #expect(Attributes.replaced(by: ["a": "1"], among: candidates)?.id == ruled.id)
        }
        for candidates in [[twin, only, ruled], [ruled, twin, only] + others] {
            #expect(Attributes.replaced(by: ["a": "1"], among: candidates)?.id == only.id)
        }
        let newer = item(["a": "1"], modified: 5, .ruled)
        #expect(Attributes.replaced(by: ["a": "1"], among: [newer, ruled])?.id == newer.id)
        #expect(Attributes.replaced(by: ["a": "1"], among: [twin])?.id == twin.id)
    }

    private func refusal(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch BusProgramError.answered(let name) { return name } catch { return "\(error)" }
    }

    private func secrets(_ served: ServedSecrets) -> [String] {
        served.store.rows.map { row in
            row.secret?.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } ?? ""
        }
    }

    @Test func `a new secret comes to the item with the rule, or nowhere`() throws {
        let served = try ServedSecrets()
        let ruled = served.add("Bank", ["a": "1"], "old", isRuled: true)
        _ = served.add("Bank", ["a": "1"], "planted")
        let program = try served.program()
        let session = try program.openSession()
        let properties = BusDatum.properties([
            "org.freedesktop.Secret.Item.Label": .text("Bank"),
            "org.freedesktop.Secret.Item.Attributes": .attributes(["a": "1"]),
        ])
        func replace() throws -> BusProgram.Pending {
            try program.send(
                SecretProgram.login, "Collection", "CreateItem",
                [properties, SecretProgram.parcel("new", session: session), .flag(true)])
        }
        let declined = try replace()
        try served.store.question().end(.declined)
        #expect(refusal { _ = try program.bus.answer(declined) } == "org.freedesktop.DBus.Error.AuthFailed")
        #expect(secrets(served) == ["old", "planted"])
        let agreed = try replace()
        try served.store.question().end(.proved)
        #expect(try program.bus.answer(agreed)[0] == .path(ruled.path))
        #expect(secrets(served) == ["new", "planted"])
    }

    @Test func `where the item with the rule is for other programs, or locked, the twin gets nothing`() throws {
        let served = try ServedSecrets()
        let ruled = served.add("Bank", ["a": "1"], "old", isRuled: true)
        _ = served.add("Bank", ["a": "1"], "planted")
        let program = try served.program()
        let session = try program.openSession()
        func replace() throws { _ = try program.create("Bank", ["a": "1"], "new", session: session, replacing: true) }
        served.store.change(ruled.id) { $0.readers = [1] }
        #expect(refusal { try replace() } == "org.freedesktop.DBus.Error.AccessDenied")
        served.store.change(ruled.id) { $0.readers = nil }
        _ = try program.call(SecretProgram.root, "Service", "Lock", [.paths([ruled.path])])
        #expect(refusal { try replace() } == "org.freedesktop.Secret.Error.IsLocked")
        #expect(secrets(served) == ["old", "planted"] && served.store.questions.isEmpty)
    }
}
