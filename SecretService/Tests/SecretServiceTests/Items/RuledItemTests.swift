import Foundation
import SecretItems
import SecretProgramSupport
import Testing

@testable import SecretService

/// Items with a rule: they ask within GetSecret.
@Suite(.timeLimit(.minutes(10))) struct RuledItemTests {
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

    private func begin(_ program: SecretProgram, _ session: String) throws -> BusProgram.Pending {
        try program.send(item.path, "Item", "GetSecret", [.path(session)])
    }

    @Test func `an item with a rule counts as unlocked, and asks when it is read`() throws {
        #expect(try program.search(["a": "1"]).unlocked == [item.path])
        #expect(try program.property(item.path, "Item", "Locked") == .flag(false))
        let unlocked = try program.unlock([item.path])
        #expect(unlocked.unlocked == [item.path] && unlocked.prompt == "/")
        #expect(served.store.questions.isEmpty)
        let pending = try begin(program, session)
        let question = try served.store.question()
        #expect(question.reason == "read “Bank” in the keyring")
        #expect(try program.search([:]).unlocked.count == 1, "other calls go on while the question stands")
        question.end(.proved)
        #expect(SecretProgram.secret(try program.bus.answer(pending)[0]) == "a secret")
        #expect(try program.secret(item.path, session: session) == "a secret")
        #expect(served.store.questions.count == 1, "one proof serves the later calls")
    }

    /// The library of a program gives up after 25 seconds. Nothing tells the service.
    @Test func `a late answer serves the same program's next call unasked, and no other program's`() throws {
        let pending = try begin(program, session)
        let question = try served.store.question()
        #expect(throws: BusProgramError.self) { _ = try program.bus.answer(pending, seconds: 0.2) }
        question.end(.proved)
        #expect(try program.secret(item.path, session: session) == "a secret")
        #expect(served.store.questions.count == 1)
        let other = try ForeignProgram(served.bus, "secret", item.path)
        let second = try served.store.question()
        #expect(second.processID == other.processID && second !== question)
        second.end(.declined)
        #expect(other.lines() == ["error org.freedesktop.DBus.Error.AuthFailed"])
    }

    @Test func `a second connection of the same program is the same client`() throws {
        let second = try served.program()
        let secondSession = try second.openSession()
        let pending = try begin(program, session)
        try served.store.question().end(.proved)
        _ = try program.bus.answer(pending)
        #expect(try second.secret(item.path, session: secondSession) == "a secret")
        #expect(served.store.questions.count == 1)
    }

    @Test func `a program that asks again while the question stands is asked once, and declined once`() throws {
        let (first, second) = (try begin(program, session), try begin(program, session))
        // A program's calls are taken in their order, so both wait for the question once this one is answered.
        _ = try program.search([:])
        try served.store.question().end(.declined)
        for pending in [first, second] {
            #expect(refusal { _ = try program.bus.answer(pending) } == "org.freedesktop.DBus.Error.AuthFailed")
        }
        #expect(served.store.questions.count == 1)
        let third = try begin(program, session)
        try served.store.question().end(.proved)
        #expect(SecretProgram.secret(try program.bus.answer(third)[0]) == "a secret")
    }

    @Test func `one proof serves both calls of a program's run`() throws {
        let other = try ForeignProgram(served.bus, "twice", item.path)
        try served.store.question().end(.proved)
        #expect(other.lines() == ["a secret", "a secret"])
        #expect(served.store.questions.count == 1)
    }

    @Test func `several items with rules are one question`() throws {
        let (second, free) = (
            served.add("Shop", [:], "second", isRuled: true), served.add("Free", [:], "third")
        )
        let pending = try program.send(
            SecretProgram.root, "Service", "GetSecrets",
            [.paths([item.path, second.path, free.path]), .path(session)])
        let question = try served.store.question()
        #expect(question.reason == "read 2 secrets of the keyring")
        question.end(.proved)
        let read = try program.bus.answer(pending)[0].dictionary ?? [:]
        #expect(
            read.mapValues { SecretProgram.secret($0) } == [
                item.path: "a secret", second.path: "second", free.path: "third",
            ])
        #expect(served.store.questions.count == 1)
    }

    @Test func `a declined question leaves the secrets that asked for nothing`() throws {
        let free = served.add("Free", [:], "third")
        let mixed = try program.send(
            SecretProgram.root, "Service", "GetSecrets", [.paths([item.path, free.path]), .path(session)])
        let question = try served.store.question()
        #expect(question.reason == "read “Bank” in the keyring", "the others are read without it")
        question.end(.declined)
        #expect(try program.bus.answer(mixed)[0].dictionary?.keys.sorted() == [free.path])
        let ruled = try program.send(
            SecretProgram.root, "Service", "GetSecrets", [.paths([item.path]), .path(session)])
        try served.store.question().end(.declined)
        #expect(refusal { _ = try program.bus.answer(ruled) } == "org.freedesktop.DBus.Error.AuthFailed")
    }

    @Test func `locking a proved item has it ask again, and its neighbour not`() throws {
        let neighbour = served.add("Shop", [:], "second", isRuled: true)
        let pending = try begin(program, session)
        try served.store.question().end(.proved)
        _ = try program.bus.answer(pending)
        _ = try program.call(SecretProgram.root, "Service", "Lock", [.paths([item.path])])
        #expect(try program.secret(neighbour.path, session: session) == "second")
        #expect(served.store.questions.count == 1)
        let again = try begin(program, session)
        try served.store.question().end(.proved)
        #expect(SecretProgram.secret(try program.bus.answer(again)[0]) == "a secret")
        #expect(served.store.questions.count == 2)
    }

    @Test func `a program that the item is not for reads, changes and deletes nothing`() throws {
        served.store.change(item.id) { $0.readers = [1] }
        let denied = "org.freedesktop.DBus.Error.AccessDenied"
        #expect(refusal { _ = try program.secret(item.path, session: session) } == denied)
        #expect(refusal { _ = try program.call(item.path, "Item", "Delete") } == denied)
        #expect(refusal { try program.setProperty(item.path, "Item", "Label", .text("x")) } == denied)
        let parcel = SecretProgram.parcel("x", session: session)
        #expect(refusal { _ = try program.call(item.path, "Item", "SetSecret", [parcel]) } == denied)
        let several = try program.call(
            SecretProgram.root, "Service", "GetSecrets", [.paths([item.path]), .path(session)])
        #expect(several[0].dictionary == [:])
        #expect(served.store.questions.isEmpty && served.store.rows.count == 1)
    }

    @Test func `the question of a program that leaves goes with it, and nobody has proved anything`() throws {
        let other = try ForeignProgram(served.bus, "secret", item.path)
        let question = try served.store.question()
        other.end()
        try eventually("the question is gone") { question.answer == .cancelled }
        let pending = try begin(program, session)
        try served.store.question().end(.proved)
        _ = try program.bus.answer(pending)
        #expect(served.store.questions.count == 2)
    }

    @Test func `so many questions of one program wait, and others are refused`() throws {
        let first = try begin(program, session)
        let question = try served.store.question()
        let others = (0...ServiceLimits.questionCount).map { served.add("\($0)", [:], "x", isRuled: true) }
        let calls = try others.map { try program.send($0.path, "Item", "GetSecret", [.path(session)]) }
        let late = try #require(calls.last)
        #expect(refusal { _ = try program.bus.answer(late) } == "org.freedesktop.DBus.Error.LimitsExceeded")
        question.end(.proved)
        #expect(SecretProgram.secret(try program.bus.answer(first)[0]) == "a secret")
        for call in calls.dropLast() {
            #expect(SecretProgram.secret(try program.bus.answer(call)[0]) == "x")
        }
        #expect(served.store.questions.count == 1)
    }
}
