import Foundation
import StoreTestSupport
import Synchronization

@testable import Vault

/// A store in which a commit can be held, so that the changes of other threads gather behind it.
struct GatheringFixture: Sendable {
    let folder: String
    private let ownFolder: TestFolder?
    let vault: Vault
    let pause = PausingObserver()
    private let protector = FailingProtector()
    let alice = UserRecord(uid: 1000, name: "alice", created: 10)
    var owner: VaultID { alice.id }

    init(folder: String? = nil) throws {
        ownFolder = folder == nil ? try TestFolder() : nil
        self.folder = folder ?? ownFolder!.path
        vault = try Vault(folder: self.folder, ownedBy: geteuid(), create: true, protector: protector, observer: pause)
        try vault.write("user") { try $0.addUser(alice) }
        pause.hold("first")
    }

    func reopened() throws -> Vault {
        try Vault(folder: folder, ownedBy: geteuid(), create: false, protector: TestProtector())
    }

    /// Waits until so many threads stand in the queue to write.
    func waitForWriters(_ count: Int) {
        while vault.transactions.waitingWriterCount < count { usleep(200) }
        // They are counted a moment before they stand there.
        usleep(20_000)
    }

    /// Makes the changes on so many threads, in order, all of them while the commit of another change is held.
    ///
    /// - Parameter failing: whether the commit of these changes fails.
    func gather(
        _ count: Int, failing: Bool = false, usingReserve: @Sendable (Int) -> Bool = { _ in false },
        _ change: @Sendable (Int) -> @Sendable (VaultWriter) throws -> Void
    ) -> [Result<Void, any Error>] {
        let first = Threads<Void>()
        first.start { try vault.write("first") { try $0.setUser(alice) } }
        pause.waitUntilHolding("first")
        if failing { protector.failAtNextList() }
        let threads = Threads<Void>()
        for number in 0..<count {
            let (body, reserve) = (change(number), usingReserve(number))
            threads.start { try vault.write("\(number)", usingReserve: reserve, body) }
            waitForWriters(number + 1)
        }
        pause.release("first")
        _ = first.wait()
        return threads.wait()
    }
}

/// Holds the commits of chosen changes.
final class PausingObserver: WriteObserver {
    private struct State {
        var held: Set<String> = []
        var holding: Set<String> = []
    }

    private let state = Mutex(State())

    func hold(_ label: String) { state.withLock { _ = $0.held.insert(label) } }
    func release(_ label: String) { state.withLock { _ = $0.held.remove(label) } }

    func waitUntilHolding(_ label: String) {
        while !state.withLock({ $0.holding.contains(label) }) { usleep(200) }
    }

    func willCommit(_ label: String) {
        guard state.withLock({ $0.held.contains(label) }) else { return }
        state.withLock { _ = $0.holding.insert(label) }
        while state.withLock({ $0.held.contains(label) }) { usleep(200) }
        state.withLock { _ = $0.holding.remove(label) }
    }

    func didCommit(_ label: String) {}
}

/// The keys of the tests, which can fail once at the end of a transaction, when lists are digested.
final class FailingProtector: RecordProtector {
    struct Failure: Error {}

    private let keys = TestProtector()
    private let failsAtList = Atomic(false)

    func failAtNextList() { failsAtList.store(true, ordering: .relaxed) }

    func digest(_ data: Data, label: String) throws -> Data {
        if label == "ostiary.vault.list", failsAtList.exchange(false, ordering: .relaxed) { throw Failure() }
        return keys.digest(data, label: label)
    }

    func authenticationCode(for data: Data, label: String) -> Data { keys.authenticationCode(for: data, label: label) }
    func isValid(_ code: Data, for data: Data, label: String) -> Bool { keys.isValid(code, for: data, label: label) }
    func protect(_ data: Data, label: String) throws -> Data { try keys.protect(data, label: label) }
    func unprotect(_ data: Data, label: String) throws -> Data { try keys.unprotect(data, label: label) }
}
