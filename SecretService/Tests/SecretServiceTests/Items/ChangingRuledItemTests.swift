import SecretItems
import SecretMemory
import SecretProgramSupport
import Testing

@testable import SecretService

/// Items with a rule are changed, replaced and deleted after its proof, within the call.
@Suite(.timeLimit(.minutes(10))) struct ChangingRuledItemTests {
    private static let authFailed = "org.freedesktop.DBus.Error.AuthFailed"
    private let served: ServedSecrets
    private let program: SecretProgram
    private let session: String
    private let item: (id: SecretID, path: String)

    init() throws {
        served = try ServedSecrets()
        item = served.add("Bank", ["a": "1"], "a secret", isRuled: true)
        program = try served.program()
        session = try program.openSession()
    }

    private func refusal(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch BusProgramError.answered(let name) { return name } catch { return "\(error)" }
    }

    enum Change: CaseIterable {
        case secret, label, attributes, replacement, deletion

        var reason: String { self == .deletion ? "delete “Bank” from the keyring" : "change “Bank” in the keyring" }
    }

    private func send(_ change: Change) throws -> BusProgram.Pending {
        func set(_ name: String, _ value: BusDatum) throws -> BusProgram.Pending {
            try program.bus.send(
                item.path, "org.freedesktop.DBus.Properties", "Set", to: SecretProgram.service,
                [.text("org.freedesktop.Secret.Item"), .text(name), .variant(value)])
        }
        let parcel = SecretProgram.parcel("another secret", session: session)
        switch change {
        case .secret: return try program.send(item.path, "Item", "SetSecret", [parcel])
        case .label: return try set("Label", .text("New"))
        case .attributes: return try set("Attributes", .attributes(["b": "2"]))
        case .deletion: return try program.send(item.path, "Item", "Delete")
        case .replacement:
            let properties = BusDatum.properties([
                "org.freedesktop.Secret.Item.Label": .text("Bank"),
                "org.freedesktop.Secret.Item.Attributes": .attributes(["a": "1"]),
            ])
            return try program.send(SecretProgram.login, "Collection", "CreateItem", [properties, parcel, .flag(true)])
        }
    }

    private func row() throws -> PlayedStore.Row? { served.store.rows.first { $0.id == item.id } }

    private func isUntouched() throws -> Bool {
        let row = try #require(try row())
        return row.contents.label == "Bank" && row.contents.attributes == ["a": "1"]
            && row.secret?.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } == "a secret"
            && served.store.rows.count == 1
    }

    @Test(arguments: Change.allCases) func `it is asked for within the call, and then done`(change: Change) throws {
        let pending = try send(change)
        let question = try served.store.question()
        #expect(question.reason == change.reason)
        #expect(try isUntouched(), "nothing is done before the proof")
        #expect(try program.search([:]).unlocked == [item.path], "other calls go on while the question stands")
        question.end(.proved)
        _ = try program.bus.answer(pending)
        if change == .deletion { #expect(try row() == nil) } else { #expect(try !isUntouched()) }
        #expect(served.store.rows.count == (change == .deletion ? 0 : 1) && served.store.questions.count == 1)
    }

    @Test(arguments: Change.allCases) func `a declined question changes nothing`(change: Change) throws {
        let pending = try send(change)
        try served.store.question().end(.declined)
        #expect(refusal { _ = try program.bus.answer(pending) } == Self.authFailed)
        #expect(try isUntouched())
    }

    @Test(arguments: Change.allCases) func `what the program proved before serves it`(change: Change) throws {
        let reading = try program.send(item.path, "Item", "GetSecret", [.path(session)])
        try served.store.question().end(.proved)
        _ = try program.bus.answer(reading)
        _ = try program.bus.answer(send(change))
        #expect(served.store.questions.count == 1)
    }

    @Test func `an item without a rule is changed and deleted unasked`() throws {
        let free = served.add("Free", ["c": "3"], "third").path
        try program.setProperty(free, "Item", "Label", .text("New"))
        let parcel = SecretProgram.parcel("fourth", session: session)
        _ = try program.call(free, "Item", "SetSecret", [parcel])
        #expect(try program.create("x", ["c": "3"], "fifth", session: session, replacing: true) == free)
        #expect(try program.call(free, "Item", "Delete") == [.path("/")])
        #expect(served.store.questions.isEmpty && served.store.rows.count == 1)
    }
}
