import Crypto
import Foundation
public import SecretMemory

/// The private half of a factor's or class's key pair. Holding it means that the factor was proved, or that the class
/// is open.
///
/// It owns the 32-byte seed and wipes it when the last reference goes. The library's key object is made for each use and
/// dropped at once: it lives in ordinary memory and is not wiped by the library.
public final class PrivateHalf: Sendable {
    public let publicHalf: PublicHalf
    private let seed: SecretBytes
    /// The keys that encrypt items of a class; nil for other roles. They are derived once, because deriving takes
    /// longer than reading an item.
    let itemKeys: ItemKeys?

    public var role: KeyRole { publicHalf.role }
    public var epoch: UInt32 { publicHalf.epoch }

    /// A new key pair.
    public init(generating role: KeyRole, epoch: UInt32) throws(SlotError) {
        let seed = SecretBytes(random: KeySuite.seedByteCount)
        do {
            let key = try unsafe seed.withUnsafeBytes {
                try unsafe XWingMLKEM768X25519.PrivateKey(seedRepresentation: $0, publicKey: nil)
            }
            publicHalf = PublicHalf(role: role, epoch: epoch, bytes: key.publicKey.rawRepresentation)
        } catch {
            throw .libraryFailure
        }
        itemKeys = ItemKeys(role: role, seed: seed)
        self.seed = seed
    }

    /// The pair of a seed that was kept somewhere.
    ///
    /// - Throws: ``SlotError/mismatchedHalves(_:)`` when `publicHalf` is not the public half of this seed, or the seed
    ///   has not 32 bytes.
    public init(seed: consuming SecretBytes, publicHalf: PublicHalf) throws(SlotError) {
        let publicKey = try publicHalf.key()
        do {
            _ = try unsafe seed.withUnsafeBytes {
                try unsafe XWingMLKEM768X25519.PrivateKey(seedRepresentation: $0, publicKey: publicKey)
            }
        } catch {
            throw .mismatchedHalves(publicHalf.role)
        }
        self.publicHalf = publicHalf
        itemKeys = ItemKeys(role: publicHalf.role, seed: seed)
        self.seed = seed
    }

    /// The pair of a seed that comes from somewhere else, such as a security key, and is kept nowhere.
    ///
    /// - Parameter seed: 32 bytes that nobody can guess.
    public init(deriving seed: consuming SecretBytes, role: KeyRole, epoch: UInt32) throws(SlotError) {
        do {
            let key = try unsafe seed.withUnsafeBytes {
                try unsafe XWingMLKEM768X25519.PrivateKey(seedRepresentation: $0, publicKey: nil)
            }
            publicHalf = PublicHalf(role: role, epoch: epoch, bytes: key.publicKey.rawRepresentation)
        } catch {
            throw .libraryFailure
        }
        itemKeys = ItemKeys(role: role, seed: seed)
        self.seed = seed
    }

    /// Lends the 32-byte seed, for an enclave or a security key's secret to wrap. Wrapping with another pair does not
    /// need it: see ``WrappedPrivateHalf``.
    public func withSeed<Result: ~Copyable, Failure: Error>(
        _ body: (borrowing SecretBytes) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(seed)
    }

    /// The library's key, for one use.
    func key() throws(SlotError) -> XWingMLKEM768X25519.PrivateKey {
        do {
            return try unsafe seed.withUnsafeBytes {
                try unsafe XWingMLKEM768X25519.PrivateKey(seedRepresentation: $0, publicKey: nil)
            }
        } catch {
            throw .libraryFailure
        }
    }
}
