import Foundation
import StoreTestSupport
import Synchronization
import Testing

@testable import Vault

/// A store that a counter outside of it follows.
@Suite struct RollbackTests {
    private let folder: TestFolder
    private let counter = MemoryCounter(at: 7)
    private let vault: Vault

    init() throws {
        folder = try TestFolder()
        vault = try Vault(
            folder: folder.path, ownedBy: geteuid(), create: true, protector: TestProtector(),
            newMark: RollbackMark(counter: Data([1, 2, 3]), value: 7))
        vault.follow(counter)
    }

    private func change(_ name: String, _ irrevocable: Irrevocability? = .atOnce) throws {
        try vault.write("change", irrevocable: irrevocable) {
            try $0.addUser(UserRecord(uid: 1, name: name, created: 0))
        }
    }

    private func reopened() throws -> Vault {
        try Vault(folder: folder.path, ownedBy: geteuid(), create: false, protector: TestProtector())
    }

    @Test func `an irrevocable change writes the next number, and then the counter moves`() throws {
        try change("a")
        #expect(counter.value == 8)
        #expect(try reopened().rollbackMark?.value == 8)
        #expect(vault.rollbackMark?.counter == Data([1, 2, 3]))
        #expect(vault.rollbackMark?.generation == vault.storeGeneration)
    }

    @Test func `other changes move nothing, until they are covered at once`() throws {
        try vault.coverChanges()
        #expect(counter.value == 7)
        try change("a", nil)
        try change("b", nil)
        #expect(counter.value == 7)
        try vault.coverChanges()
        try vault.coverChanges()
        #expect(counter.value == 8)
        #expect(vault.rollbackMark?.generation == vault.storeGeneration)
    }

    @Test func `a change that fails moves nothing and leaves no number`() throws {
        try change("a")
        #expect(throws: VaultError.notFound) {
            try vault.write("change", irrevocable: .atOnce) { _ in throw VaultError.notFound }
        }
        #expect(counter.value == 8 && vault.rollbackMark?.value == 8)
        try change("b")
        #expect(try counter.value == 9 && reopened().rollbackMark?.value == 9)
    }

    @Test func `a step that fails is made before the next change, which is refused while it fails`() throws {
        counter.fail(true)
        try change("a")
        #expect(vault.rollbackMark?.value == 8 && counter.value == 7 && counter.owedCount == 1)
        #expect(throws: MemoryCounter.Failure.self) { try change("b") }
        #expect(vault.rollbackMark?.value == 8)
        #expect(try vault.read { try $0.users().count } == 1)
        counter.fail(false)
        try change("b")
        #expect(vault.rollbackMark?.value == 9 && counter.value == 9)
    }

    @Test func `many threads never leave the store more than one step ahead`() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 { group.addTask { try change("\(number)") } }
            try await group.waitForAll()
        }
        #expect(counter.value == 15 && vault.rollbackMark?.value == 15)
    }

    @Test func `an allowance ends, and comes back with time`() {
        let now = Mutex(ContinuousClock.now)
        var allowance = StepAllowance(now: { now.withLock { $0 } })
        func taken(of count: Int) -> Int { (0..<count).count { _ in allowance.take() } }
        #expect(taken(of: StepAllowance.capacity + 5) == StepAllowance.capacity)
        now.withLock { $0 = $0.advanced(by: StepAllowance.interval * 2 + .seconds(1)) }
        #expect(taken(of: 5) == 2)
        now.withLock { $0 = $0.advanced(by: StepAllowance.interval * 100_000) }
        #expect(taken(of: StepAllowance.capacity + 5) == StepAllowance.capacity)
    }

    @Test func `without allowance a change of a program is made and covered by the next step`() throws {
        for number in 0..<StepAllowance.capacity { try change("\(number)", .withinAllowance) }
        let spent = counter.value
        try change("more", .withinAllowance)
        #expect(counter.value == spent)
        try change("person", .atOnce)
        #expect(counter.value == spent + 1)
        #expect(vault.rollbackMark?.generation == vault.storeGeneration)
    }

    @Test func `a store without a counter is as before`() throws {
        let other = try TestFolder()
        let vault = try Vault(folder: other.path, ownedBy: geteuid(), create: true, protector: TestProtector())
        try vault.write("change", irrevocable: .atOnce) { try $0.addUser(UserRecord(uid: 1, name: "a", created: 0)) }
        try vault.coverChanges()
        #expect(vault.rollbackMark == nil)
    }

    // MARK: format

    private var root: Root {
        var root = Root()
        root.counter = 5
        root.rollback = RollbackMark(counter: Data([0x02, 0x05]), value: 0x1234, generation: 4)
        return root
    }

    private static let store = VaultID(bytes: Data(repeating: 0x11, count: 16))!

    @Test func `the root with a mark is the documented one`() throws {
        let row = root.row(store: Self.store)
        guard case .blob(let bytes)? = row.columns.first else { throw MalformedRow() }
        #expect(bytes.hexadecimal == "030000000002020500000000000012340000000000000004")
        #expect(try Root(row) == root)
        // A root without a mark has nothing behind its lists.
        var other = row
        other.columns = [.blob(Data([2]) + bytes.dropFirst())]
        #expect(throws: MalformedRow.self) { try Root(other) }
    }

    @Test(arguments: 0..<24) func `no truncation of it decodes, nor one with more behind it`(count: Int) throws {
        var row = root.row(store: Self.store)
        guard case .blob(let bytes)? = row.columns.first else { throw MalformedRow() }
        #expect(bytes.count == 24)
        row.columns = [.blob(bytes.prefix(count))]
        #expect(throws: MalformedRow.self) { try Root(row) }
        row.columns = [.blob(bytes + Data(count: count + 1))]
        #expect(throws: MalformedRow.self) { try Root(row) }
    }
}

/// A counter in memory.
private final class MemoryCounter: RollbackCounter {
    struct Failure: Error {}

    private let state: Mutex<(value: UInt64, fails: Bool, owed: Int)>
    var value: UInt64 { state.withLock { $0.value } }
    var owedCount: Int { state.withLock { $0.owed } }

    init(at value: UInt64) { state = Mutex((value, false, 0)) }

    func fail(_ fails: Bool) { state.withLock { $0.fails = fails } }

    func advance(to value: UInt64) throws {
        try state.withLock { state in
            guard !state.fails, state.value == value || state.value + 1 == value else { throw Failure() }
            state.value = value
        }
    }

    func noteOwedStep(because error: any Error) { state.withLock { $0.owed += 1 } }
}
