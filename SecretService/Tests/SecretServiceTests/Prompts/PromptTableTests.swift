import MessageBus
import SecretItems
import Testing

@testable import SecretService

@Suite struct PromptTableTests {
    private let work = PromptWork(byteCount: 0, run: { (_) throws(StoreRefusal) in .text("done") }, nothing: .text(""))

    private func holder(_ peer: String, process: Int32 = 7, program: UInt64 = 1) -> Holder {
        Holder(peer: peer, processID: process, program: CallerFile(device: 0, inode: program))
    }

    @Test func `a prompt is that of its connection, and is shown once`() throws {
        var table = PromptTable()
        let number = try table.add(work, for: holder(":1.1"))
        #expect(throws: BusFault.noSuchObject) { _ = try table.begin(number, of: ":1.2") }
        #expect(throws: BusFault.noSuchObject) { _ = try table.begin(number + 1, of: ":1.1") }
        #expect(table.isOf(":1.1", number) && !table.isOf(":1.2", number))
        _ = try table.begin(number, of: ":1.1")
        let again = #expect(throws: BusFault.self) { _ = try table.begin(number, of: ":1.1") }
        #expect(again?.name == "org.freedesktop.DBus.Error.Failed")
    }

    @Test func `the first end of a prompt counts`() throws {
        var table = PromptTable()
        let number = try table.add(work, for: holder(":1.1"))
        _ = try table.begin(number, of: ":1.1")
        let isNoted = table.note(question: 7, of: number)
        let first = table.finish(number)?.state
        let second = table.finish(number)?.state
        let isNotedLate = table.note(question: 7, of: number)
        #expect(isNoted && first == .shown(7) && second == nil && !isNotedLate && !table.contains(number))
    }

    @Test func `a connection has so many prompts, which end with it`() throws {
        var table = PromptTable()
        var last: UInt64 = 0
        for _ in 0..<16 { last = try table.add(work, for: holder(":1.1")) }
        let refused = #expect(throws: BusFault.self) { _ = try table.add(work, for: holder(":1.1")) }
        #expect(refused == .tooMuch("This connection has 16 prompts already. Dismiss some."))
        let other = try table.add(work, for: holder(":1.2"))
        table.forget(":1.1")
        #expect(!table.contains(last) && table.contains(other))
    }

    @Test func `a process has so many prompts, and a program`() throws {
        var table = PromptTable()
        for number in 0..<32 { _ = try table.add(work, for: holder(":1.\(number)")) }
        let ofProcess = #expect(throws: BusFault.self) { _ = try table.add(work, for: holder(":2.1")) }
        #expect(ofProcess == .tooMuch("This process has 32 prompts already. Dismiss some."))
        for number in 0..<96 { _ = try table.add(work, for: holder(":3.\(number)", process: 100 + Int32(number))) }
        let ofProgram = #expect(throws: BusFault.self) { _ = try table.add(work, for: holder(":2.1", process: 8)) }
        #expect(ofProgram == .tooMuch("The processes of this program have 128 prompts already. Dismiss some."))
        _ = try table.add(work, for: holder(":2.1", process: 8, program: 2))
    }

    /// A prompt about very many objects waits in memory.
    @Test func `what prompts keep has a limit, which the end of a prompt gives back`() throws {
        var table = PromptTable()
        let large = PromptWork(
            byteCount: 512 << 10, run: { (_) throws(StoreRefusal) in .text("done") }, nothing: .text(""))
        let first = try table.add(large, for: holder(":1.1"))
        _ = try table.add(large, for: holder(":1.1"))
        let refused = #expect(throws: BusFault.self) { _ = try table.add(large, for: holder(":1.2")) }
        #expect(refused?.name == "org.freedesktop.DBus.Error.LimitsExceeded")
        _ = try table.add(work, for: holder(":1.2"))
        _ = table.finish(first)
        _ = try table.add(large, for: holder(":1.2"))
        table.forget(":1.1")
        _ = try table.add(large, for: holder(":1.2"))
    }
}
