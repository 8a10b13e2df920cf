public import AuditLog
import Crypto
public import Foundation
public import SecretMemory
import Synchronization

/// Anchors in memory, of a store that counts its changes; both can be put back to old ones, or saving made to fail.
public final class TestAnchorStore: AnchorStore {
    public struct Failure: Error, Equatable { public init() {} }

    private let state: Mutex<(anchor: Anchor?, generation: UInt64, fails: Bool)>

    public init(_ anchor: Anchor? = nil) { state = Mutex((anchor, 0, false)) }

    public var anchor: Anchor? {
        get { state.withLock { $0.anchor } }
        set { state.withLock { $0.anchor = newValue } }
    }

    public var storeGeneration: UInt64 {
        get { state.withLock { $0.generation } }
        set { state.withLock { $0.generation = newValue } }
    }

    public var fails: Bool {
        get { state.withLock { $0.fails } }
        set { state.withLock { $0.fails = newValue } }
    }

    public func load() -> Anchor? { anchor }

    public func save(_ anchor: Anchor) throws {
        try state.withLock { state in
            if state.fails { throw Failure() }
            state.anchor = anchor
            state.generation += 1
        }
    }
}

/// One anchor and the number of changes in a file, replaced by renaming; for programs that are killed.
public final class FileAnchorStore: AnchorStore {
    private struct Content: Codable {
        var generation: UInt64 = 0
        /// Count, epoch, position, and the number of changes then.
        var numbers: [UInt64] = []
        var head = Data()
        var sealedKey = Data()
    }

    private let url: URL
    private let content: Mutex<Content>
    /// Called around each replacement of the file, with what was done.
    private let step: @Sendable (String) -> Void

    public init(path: String, step: @escaping @Sendable (String) -> Void = { _ in }) throws {
        url = URL(fileURLWithPath: path)
        self.step = step
        let isThere = FileManager.default.fileExists(atPath: path)
        content = Mutex(
            isThere ? try PropertyListDecoder().decode(Content.self, from: Data(contentsOf: url)) : Content())
    }

    public var storeGeneration: UInt64 { content.withLock { $0.generation } }

    public func load() throws -> Anchor? {
        content.withLock { content in
            guard content.numbers.count == 4 else { return nil }
            return Anchor(
                count: content.numbers[0], head: content.head, epoch: UInt32(content.numbers[1]),
                sealedKey: content.sealedKey,
                place: Anchor.Place(position: content.numbers[2], storeGeneration: content.numbers[3]))
        }
    }

    public func save(_ anchor: Anchor) throws {
        try commit("anchor") { content in
            content.numbers = [
                anchor.count, UInt64(anchor.epoch), anchor.place.position, anchor.place.storeGeneration,
            ]
            content.head = anchor.head
            content.sealedKey = anchor.sealedKey
        }
    }

    /// A change that has nothing to do with the log.
    public func change() throws { try commit("change") { _ in } }

    private func commit(_ name: String, _ body: (inout Content) -> Void) throws {
        try content.withLock { content in
            var next = content
            body(&next)
            next.generation += 1
            step("before \(name)")
            try PropertyListEncoder().encode(next).write(to: url, options: .atomic)
            step("after \(name)")
            content = next
        }
    }
}

/// Seals with a fixed key.
public struct TestSealer: LogKeySealer {
    private let key: SymmetricKey

    public init(number: UInt8 = 1) { key = SymmetricKey(data: [UInt8](repeating: number, count: 32)) }

    public func seal(_ secret: borrowing SecretBytes) throws -> Data {
        try secret.withUnsafeBytes { bytes in try AES.GCM.seal(Data(bytes), using: key).combined! }
    }

    public func unseal(_ sealed: Data) throws -> SecretBytes {
        var opened = try AES.GCM.open(AES.GCM.SealedBox(combined: sealed), using: key)
        return SecretBytes(taking: &opened)
    }
}

/// The seed of an epoch in tests.
public func testSeed(epoch: UInt32) -> SecretBytes {
    var bytes = Data(SHA256.hash(data: Data("seed of epoch \(epoch)".utf8)))
    return SecretBytes(taking: &bytes)
}
