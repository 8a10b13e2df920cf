import Foundation
import MessageBus
import SecretItems
import SecretProgramSupport
import Testing

@testable import SecretService

/// Locks and prompts, as programs on the bus see them.
@Suite(.timeLimit(.minutes(10))) struct LockingTests {
    private static let isLocked = "org.freedesktop.Secret.Error.IsLocked"

    private func refusal(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch BusProgramError.answered(let name) { return name } catch { return "\(error)" }
    }

    // MARK: a locked store

    @Test func `a search in a locked store gives paths, and nothing is read`() throws {
        let served = try ServedSecrets(isOpen: false)
        let item = served.add("Mail", ["a": "1"], "a secret").path
        let program = try served.program()
        let session = try program.openSession()
        let found = try program.search(["a": "1"])
        #expect(found.unlocked == [] && found.locked == [item])
        #expect(try program.search(["a": "2"]).locked == [])
        #expect(refusal { _ = try program.secret(item, session: session) } == Self.isLocked)
        #expect(refusal { _ = try program.create("x", [:], "x", session: session) } == Self.isLocked)
        #expect(refusal { _ = try program.call(item, "Item", "Delete") } == Self.isLocked)
        #expect(refusal { try program.setProperty(item, "Item", "Label", .text("x")) } == Self.isLocked)
        let properties = try program.properties(item, "Item")
        #expect(properties["Locked"] == .flag(true) && properties["Label"] == .text(""))
        #expect(properties["Attributes"]?.dictionary == [:])
        #expect(try program.property(SecretProgram.login, "Collection", "Locked") == .flag(true))
        #expect(served.store.questions.isEmpty && served.store.rows.count == 1)
    }

    @Test func `unlocking asks once, and then the item is read`() throws {
        let served = try ServedSecrets(isOpen: false)
        let item = served.add("Mail", ["a": "1"], "a secret").path
        let program = try served.program()
        let session = try program.openSession()
        let (unlocked, prompt) = try program.unlock([item, SecretProgram.login, SecretProgram.sessionCollection])
        #expect(unlocked == [SecretProgram.sessionCollection])
        #expect(served.store.questions.isEmpty, "the prompt was not shown yet")
        try program.show(prompt)
        try served.store.question().end(.proved)
        let (isDismissed, result) = try program.completion(of: prompt)
        #expect(!isDismissed && result.paths == [item, SecretProgram.login])
        #expect(served.store.questions.count == 1)
        #expect(try program.secret(item, session: session) == "a secret")
        let again = try program.unlock([item])
        #expect(again.unlocked == [item] && again.prompt == "/")
        #expect(refusal { try program.show(prompt) } != nil, "a prompt ends with its question")
    }

    @Test func `dismissing takes the question away at once`() throws {
        let served = try ServedSecrets(isOpen: false)
        let program = try served.program()
        let (_, prompt) = try program.unlock([SecretProgram.login])
        try program.show(prompt)
        let question = try served.store.question()
        let begin = ContinuousClock.now
        _ = try program.call(prompt, "Prompt", "Dismiss")
        try eventually("the question is gone") { question.answer == .cancelled }
        // The limit is 200 milliseconds; a machine that is busy with other tests gets more.
        #expect(ContinuousClock.now - begin < .seconds(20))
        let (isDismissed, result) = try program.completion(of: prompt)
        #expect(isDismissed && result == .array(of: "o", []), "the result has its usual type")
        #expect(try program.property(SecretProgram.login, "Collection", "Locked") == .flag(true))
    }

    @Test func `a prompt that was never shown is dismissed, too`() throws {
        let served = try ServedSecrets(isOpen: false)
        let program = try served.program()
        let (_, prompt) = try program.unlock([SecretProgram.login])
        _ = try program.call(prompt, "Prompt", "Dismiss")
        #expect(try program.completion(of: prompt).isDismissed)
        #expect(served.store.questions.isEmpty)
    }

    @Test func `a declined question ends its prompt as dismissed`() throws {
        let served = try ServedSecrets(isOpen: false)
        let program = try served.program()
        let (_, prompt) = try program.unlock([SecretProgram.login])
        try program.show(prompt)
        try served.store.question().end(.declined)
        #expect(try program.completion(of: prompt).isDismissed)
    }

    @Test func `another connection neither shows nor dismisses a prompt`() throws {
        let served = try ServedSecrets(isOpen: false)
        let (program, other) = (try served.program(), try served.program())
        let (_, prompt) = try program.unlock([SecretProgram.login])
        let noSuchObject = "org.freedesktop.Secret.Error.NoSuchObject"
        #expect(refusal { try other.show(prompt) } == noSuchObject)
        #expect(refusal { _ = try other.call(prompt, "Prompt", "Dismiss") } == noSuchObject)
        #expect(served.store.questions.isEmpty)
    }

    @Test func `the question of a program that leaves goes with it`() throws {
        let served = try ServedSecrets(isOpen: false)
        _ = served.add("Mail", ["a": "1"], "a secret")
        let program = try ForeignProgram(served.bus, "get", "a=1")
        let question = try served.store.question()
        #expect(question.processID == program.processID)
        program.end()
        try eventually("the question is gone") { question.answer == .cancelled }
        #expect(!served.store.isOpen)
    }

    @Test func `a collection is made in a locked store once the owner opens it`() throws {
        let served = try ServedSecrets(isOpen: false)
        let program = try served.program()
        let properties = BusDatum.properties(["org.freedesktop.Secret.Collection.Label": .text("Work")])
        func make() throws -> (path: String?, prompt: String?) {
            let made = try program.call(SecretProgram.root, "Service", "CreateCollection", [properties, .text("")])
            return (made[0].text, made[1].text)
        }
        let declined = try make()
        #expect(declined.path == "/")
        try program.show(declined.prompt ?? "")
        try served.store.question().end(.declined)
        let (isDismissed, nothing) = try program.completion(of: declined.prompt ?? "")
        #expect(isDismissed && nothing == .path("/") && served.store.rows.isEmpty)
        let agreed = try make()
        try program.show(agreed.prompt ?? "")
        try served.store.question().end(.proved)
        let completion = try program.completion(of: agreed.prompt ?? "")
        #expect(!completion.isDismissed && served.store.rows.count == 1)
        #expect(try program.property(completion.result.text ?? "", "Collection", "Label") == .text("Work"))
    }

    @Test func `a lock of the store is told, and so is its end`() throws {
        let served = try ServedSecrets()
        let program = try served.program()
        try program.bus.receiveSignals(of: SecretProgram.service)
        for isOpen in [false, true] {
            served.store.setOpen(isOpen)
            served.store.news.tell(SecretNews(isUnlocked: isOpen, wasLocked: !isOpen))
            let signal = try program.bus.signal {
                $0.member == "PropertiesChanged" && $0.path == SecretProgram.login
                    && $0.values[0] == .text("org.freedesktop.Secret.Collection")
            }
            #expect(signal.values[1].dictionary == ["Locked": .flag(!isOpen)])
            #expect(try program.property(SecretProgram.login, "Collection", "Locked") == .flag(!isOpen))
        }
    }

    @Test func `a change that another program makes in the store is told`() throws {
        let served = try ServedSecrets()
        let program = try served.program()
        try program.bus.receiveSignals(of: SecretProgram.service)
        let (id, path) = served.add("Mail", [:], "a secret")
        served.store.news.tell(SecretNews(isUnlocked: true, changes: [id: .added]))
        let signal = try program.bus.signal { $0.member == "ItemCreated" }
        #expect(signal.path == SecretProgram.login && signal.values == [.path(path)])
    }

    // MARK: locks of the service's own

    @Test func `a locked collection is locked here alone, and the owner opens it`() throws {
        let served = try ServedSecrets()
        let (item, other) = (served.add("Mail", ["a": "1"], "a secret").path, try served.program())
        let program = try served.program()
        let session = try program.openSession()
        let locked = try program.call(SecretProgram.root, "Service", "Lock", [.paths([SecretProgram.login])])
        #expect(locked == [.paths([SecretProgram.login]), .path("/")])
        #expect(served.store.isOpen, "the owner's store is not locked by a program")
        #expect(try other.search([:]).locked == [item], "it is locked for other programs, too")
        #expect(refusal { _ = try program.secret(item, session: session) } == Self.isLocked)
        #expect(refusal { _ = try program.create("x", [:], "x", session: session) } == Self.isLocked)
        let memory = try program.create("x", [:], "x", in: SecretProgram.sessionCollection, session: session)
        #expect(try program.secret(memory, session: session) == "x")
        let (_, prompt) = try other.unlock([SecretProgram.login])
        try other.show(prompt)
        try served.store.question().end(.declined)
        #expect(try other.completion(of: prompt).isDismissed)
        #expect(refusal { _ = try program.secret(item, session: session) } == Self.isLocked)
        let (_, second) = try other.unlock([SecretProgram.login])
        try other.show(second)
        try served.store.question().end(.proved)
        #expect(try !other.completion(of: second).isDismissed)
        #expect(try program.secret(item, session: session) == "a secret")
    }

    @Test func `programs are told of a lock once, however often it is asked for`() throws {
        let served = try ServedSecrets()
        let program = try served.program()
        try program.bus.receiveSignals(of: SecretProgram.service)
        let paths = BusDatum.paths(Array(repeating: SecretProgram.login, count: 20))
        for _ in 0..<3 {
            let locked = try program.call(SecretProgram.root, "Service", "Lock", [paths])
            #expect(locked == [paths, .path("/")])
        }
        // Answers come behind the signals that were sent before them.
        let told = program.bus.signals.filter { $0.member == "PropertiesChanged" && $0.path == SecretProgram.login }
        #expect(told.map { $0.values[1].dictionary } == [["Locked": .flag(true)]])
    }

    @Test func `an item of a locked collection is opened with the collection, and programs are told`() throws {
        let served = try ServedSecrets()
        let item = served.add("Mail", [:], "a secret").path
        let program = try served.program()
        _ = try program.call(SecretProgram.root, "Service", "Lock", [.paths([SecretProgram.login])])
        try program.bus.receiveSignals(of: SecretProgram.service)
        let (_, prompt) = try program.unlock([item])
        try program.show(prompt)
        try served.store.question().end(.proved)
        let changed = try program.bus.signal { $0.member == "PropertiesChanged" && $0.path == SecretProgram.login }
        #expect(changed.values[1].dictionary == ["Locked": .flag(false)])
        #expect(try !program.completion(of: prompt).isDismissed)
        #expect(try program.property(SecretProgram.login, "Collection", "Locked") == .flag(false))
    }

    @Test func `the collection in memory is not locked`() throws {
        let served = try ServedSecrets()
        let program = try served.program()
        let whole = try program.call(SecretProgram.root, "Service", "Lock", [.paths([SecretProgram.root])])
        #expect(whole[0].paths == [SecretProgram.login])
        let memory = try program.call(
            SecretProgram.root, "Service", "Lock", [.paths([SecretProgram.sessionCollection, "/elsewhere"])])
        #expect(memory[0].paths == [])
    }

    @Test func `an owner who has nothing to prove is not asked`() throws {
        let served = try ServedSecrets()
        served.store.setPasscode(false)
        let program = try served.program()
        _ = try program.call(SecretProgram.root, "Service", "Lock", [.paths([SecretProgram.login])])
        let (_, prompt) = try program.unlock([SecretProgram.login])
        try program.show(prompt)
        #expect(try !program.completion(of: prompt).isDismissed)
        #expect(served.store.questions.isEmpty)
    }

    @Test func `locking one item locks it alone`() throws {
        let served = try ServedSecrets()
        let (one, neighbour) = (served.add("One", [:], "first"), served.add("Two", [:], "second"))
        let program = try served.program()
        let session = try program.openSession()
        let locked = try program.call(SecretProgram.root, "Service", "Lock", [.paths([one.path])])
        #expect(locked[0].paths == [one.path])
        #expect(try program.property(one.path, "Item", "Locked") == .flag(true))
        #expect(try program.property(neighbour.path, "Item", "Locked") == .flag(false))
        #expect(try program.secret(neighbour.path, session: session) == "second")
        #expect(served.store.questions.isEmpty)
        let pending = try program.send(one.path, "Item", "GetSecret", [.path(session)])
        try served.store.question().end(.proved)
        #expect(SecretProgram.secret(try program.bus.answer(pending)[0]) == "first")
        #expect(try program.property(one.path, "Item", "Locked") == .flag(false))
    }
}
