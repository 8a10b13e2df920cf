import Glibc
import SecretItems
import SecretProgramSupport
import Testing

@testable import SecretService

/// Each program of the session can read along on the bus. What is for certain programs goes through it encrypted alone.
@Suite(.timeLimit(.minutes(10))) struct UnencryptedSessionTests {
    private static let unsupported = "org.freedesktop.DBus.Error.NotSupported"
    private let served: ServedSecrets
    private let program: SecretProgram
    private let (plain, encrypted): (String, String)
    private let item: (id: SecretID, path: String)

    init() throws {
        served = try ServedSecrets()
        item = served.add("Bank", ["a": "1"], "a secret", isRuled: true)
        served.store.change(item.id) { $0.readers = [getpid()] }
        program = try served.program()
        (plain, encrypted) = (try program.openSession(), try program.openEncryptedSession())
    }

    private func refusal(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch BusProgramError.answered(let name) { return name } catch { return "\(error)" }
    }

    private func getSecrets(_ paths: [String], _ session: String) throws -> BusProgram.Pending {
        try program.send(SecretProgram.root, "Service", "GetSecrets", [.paths(paths), .path(session)])
    }

    @Test func `an item for certain programs is refused in a plain session, before anybody is asked`() throws {
        #expect(refusal { _ = try program.secret(item.path, session: plain) } == Self.unsupported)
        #expect(refusal { _ = try program.bus.answer(getSecrets([item.path], plain)) } == Self.unsupported)
        #expect(served.store.questions.isEmpty)
        let pending = try program.send(item.path, "Item", "GetSecret", [.path(encrypted)])
        try served.store.question().end(.proved)
        #expect(try program.secret(program.bus.answer(pending)[0], of: encrypted) == "a secret")
        // It is proved now.
        #expect(refusal { _ = try program.secret(item.path, session: plain) } == Self.unsupported)
        #expect(refusal { _ = try program.bus.answer(getSecrets([item.path], plain)) } == Self.unsupported)
        #expect(try program.secret(item.path, session: encrypted) == "a secret")
    }

    @Test func `several items come without it, and encrypted with it`() throws {
        let free = served.add("Free", [:], "third").path
        let some = try program.bus.answer(getSecrets([item.path, free], plain))[0].dictionary ?? [:]
        #expect(some.mapValues { SecretProgram.secret($0) } == [free: "third"] && served.store.questions.isEmpty)
        let pending = try getSecrets([item.path, free], encrypted)
        try served.store.question().end(.proved)
        let all = try program.bus.answer(pending)[0].dictionary ?? [:]
        #expect(try all.mapValues { try program.secret($0, of: encrypted) } == [item.path: "a secret", free: "third"])
    }

    @Test func `an item with a rule for every program is read in a plain session, as in other keyrings`() throws {
        served.store.change(item.id) { $0.readers = nil }
        let pending = try program.send(item.path, "Item", "GetSecret", [.path(plain)])
        try served.store.question().end(.proved)
        #expect(SecretProgram.secret(try program.bus.answer(pending)[0]) == "a secret")
    }
}
