public import AuditLog
import Crypto
public import Foundation
public import SecretMemory
import Synchronization

/// Anchors in memory; can be put back to an old one, or made to fail.
public final class TestAnchorStore: AnchorStore {
    public struct Failure: Error, Equatable { public init() {} }

    private let state: Mutex<(anchor: Anchor?, fails: Bool)>

    public init(_ anchor: Anchor? = nil) { state = Mutex((anchor, false)) }

    public var anchor: Anchor? {
        get { state.withLock { $0.anchor } }
        set { state.withLock { $0.anchor = newValue } }
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
        }
    }
}

/// One anchor in a file, replaced by renaming; for programs that are killed.
public struct FileAnchorStore: AnchorStore {
    private let url: URL

    public init(path: String) { url = URL(fileURLWithPath: path) }

    public func load() throws -> Anchor? {
        guard FileManager.default.fileExists(atPath: url.path) else { return nil }
        let fields = try PropertyListDecoder().decode([Data].self, from: Data(contentsOf: url))
        let numbers = fields[0].withUnsafeBytes { Array($0.bindMemory(to: UInt64.self)) }
        return Anchor(count: numbers[0], head: fields[1], epoch: UInt32(numbers[1]), sealedKey: fields[2])
    }

    public func save(_ anchor: Anchor) throws {
        let numbers = [anchor.count, UInt64(anchor.epoch)].withUnsafeBytes { Data($0) }
        try PropertyListEncoder().encode([numbers, anchor.head, anchor.sealedKey]).write(to: url, options: .atomic)
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
