import SecretItems
import SecretProgramSupport
import Testing

@testable import SecretService

/// A lock ends the proofs of what was locked, and of nothing else.
@Suite(.timeLimit(.minutes(10))) struct LockScopeTests {
    private let served: ServedSecrets
    private let program: SecretProgram
    private let other: SecretProgram
    private let session: String

    init() throws {
        served = try ServedSecrets()
        program = try served.program()
        other = try served.program()
        session = try program.openSession()
    }

    private func lock(_ paths: [String]) throws {
        _ = try other.call(SecretProgram.root, "Service", "Lock", [.paths(paths)])
    }

    private func prove(_ path: String) throws {
        let pending = try program.send(path, "Item", "GetSecret", [.path(session)])
        try served.store.question().end(.proved)
        _ = try program.bus.answer(pending)
    }

    @Test func `a lock of an empty collection leaves the proofs of all items`() throws {
        let item = served.add("Bank", [:], "a secret", isRuled: true).path
        try prove(item)
        let properties = BusDatum.properties(["org.freedesktop.Secret.Collection.Label": .text("Own")])
        let made = try other.call(SecretProgram.root, "Service", "CreateCollection", [properties, .text("")])
        try lock([made[0].text ?? ""])
        #expect(try program.secret(item, session: session) == "a secret")
        #expect(served.store.questions.count == 1)
    }

    @Test func `a lock of a collection ends the proofs of its items, and a deleted one is forgotten`() throws {
        let row = served.store.add(NewSecret.row(label: "Work"))
        let (work, home) = (
            served.add("Work", [:], "first", isRuled: true, in: "\(row)").path,
            served.add("Home", [:], "second", isRuled: true).path
        )
        try prove(work)
        #expect(try program.secret(home, session: session) == "second")
        try lock(["\(SecretProgram.root)/collection/\(row)"])
        let (_, prompt) = try other.unlock(["\(SecretProgram.root)/collection/\(row)"])
        try other.show(prompt)
        try served.store.question().end(.proved)
        _ = try other.completion(of: prompt)
        #expect(try program.secret(home, session: session) == "second")
        #expect(served.store.questions.count == 2)
        try prove(work)
        #expect(served.store.questions.count == 3)
    }
}
