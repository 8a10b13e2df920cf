import SecretItems
import SecretProgramSupport
import Testing

@testable import SecretService

/// What programs that read properties in a locked store are told once they have had the store opened.
@Suite(.timeLimit(.minutes(10))) struct HiddenPropertiesTests {
    private static let itemInterface = "org.freedesktop.Secret.Item"

    /// The signals about the attributes or the label of an object, up to the end of its prompt.
    private func told(_ program: SecretProgram, about path: String, until prompt: String) throws -> [[String: BusDatum]]
    {
        var told: [[String: BusDatum]] = []
        while true {
            let signal = try program.bus.signal {
                $0.path == prompt && $0.member == "Completed" || $0.path == path && $0.member == "PropertiesChanged"
            }
            guard signal.path == path else { return told }
            guard let values = signal.values[1].dictionary, values["Label"] != nil else { continue }
            told.append(values)
        }
    }

    /// libsecret keeps what it read before the item was unlocked.
    @Test func `a program is told what an item that it had unlocked looks like, before its prompt ends`() throws {
        let served = try ServedSecrets(isOpen: false)
        let item = served.add("Mail", ["user": "me"], "a secret").path
        let program = try served.program()
        #expect(try program.properties(item, "Item")["Label"] == .text(""))
        let (_, prompt) = try program.unlock([item])
        try program.show(prompt)
        try served.store.question().end(.proved)
        let told = try told(program, about: item, until: prompt)
        #expect(told.count == 1)
        #expect(told.first?["Label"] == .text("Mail") && told.first?["Locked"] == .flag(false))
        #expect(told.first?["Attributes"]?.dictionary == ["user": .text("me")])
        #expect(told.first?["Created"] == (try program.property(item, "Item", "Created")))
    }

    @Test func `other programs are told no attributes`() throws {
        let served = try ServedSecrets(isOpen: false)
        let item = served.add("Mail", ["user": "me"], "a secret").path
        let (program, other) = (try served.program(), try served.program())
        try other.bus.receiveSignals(of: SecretProgram.service)
        let (_, prompt) = try program.unlock([item])
        try program.show(prompt)
        try served.store.question().end(.proved)
        _ = try program.completion(of: prompt)
        // An answer comes behind the signals that were sent before it.
        _ = try other.search([:])
        let told = other.bus.signals.filter { $0.path == item && $0.values.first == .text(Self.itemInterface) }
        #expect(told.map { $0.values[1].dictionary } == [["Locked": .flag(false)]])
    }

    @Test func `a program is told the label of a collection that it had unlocked`() throws {
        let served = try ServedSecrets(isOpen: false)
        let id = served.store.add(NewSecret(.collection, collection: "", label: "Work"))
        let path = "\(SecretProgram.root)/collection/\(id)"
        let program = try served.program()
        let (_, prompt) = try program.unlock([path])
        try program.show(prompt)
        try served.store.question().end(.proved)
        #expect(try told(program, about: path, until: prompt) == [["Label": .text("Work")]])
    }

    @Test func `nothing is told of what could be seen all the time, or stays locked`() throws {
        let served = try ServedSecrets()
        let item = served.add("Mail", ["user": "me"], "a secret").path
        let program = try served.program()
        _ = try program.call(SecretProgram.root, "Service", "Lock", [.paths([item])])
        let (_, prompt) = try program.unlock([item])
        try program.show(prompt)
        try served.store.question().end(.proved)
        #expect(try told(program, about: item, until: prompt) == [])
        served.store.setOpen(false)
        served.store.news.tell(SecretNews(isUnlocked: false, wasLocked: true))
        let (_, declined) = try program.unlock([item])
        try program.show(declined)
        try served.store.question().end(.declined)
        #expect(try told(program, about: item, until: declined) == [])
    }

    /// The daemon locks by itself, and was started again perhaps.
    @Test func `a lock that was not heard of yet is opened, and not only the owner asked`() throws {
        let served = try ServedSecrets()
        let item = served.add("Mail", ["user": "me"], "a secret").path
        let program = try served.program()
        let session = try program.openSession()
        served.store.setOpen(false)
        for path in [SecretProgram.login, item] {
            let (unlocked, prompt) = try program.unlock([path])
            #expect(unlocked == [] && prompt != "/")
            _ = try program.call(prompt, "Prompt", "Dismiss")
        }
        let (_, prompt) = try program.unlock([SecretProgram.login])
        try program.show(prompt)
        try served.store.question().end(.proved)
        #expect(try !program.completion(of: prompt).isDismissed)
        #expect(served.store.isOpen && served.store.questions.count == 1)
        #expect(try program.secret(item, session: session) == "a secret")
    }
}
