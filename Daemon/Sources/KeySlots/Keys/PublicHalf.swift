import CanonicalEncoding
import Crypto
public import Foundation

/// The public half of a factor's or class's key pair: enough to seal, so that making an object asks nobody.
///
/// It authenticates nothing by itself. An attacker who replaced it in the store could open everything that is sealed to
/// it afterwards. So the store keeps an enclave's authentication code over ``encoded`` and checks it before each use.
public struct PublicHalf: Hashable, Sendable {
    private static let formatVersion: UInt8 = 1

    public let role: KeyRole
    /// Grows by one with every new pair of this role.
    public let epoch: UInt32
    /// The X-Wing public key: 1216 bytes.
    public let bytes: Data

    public init(role: KeyRole, epoch: UInt32, bytes: Data) {
        self.role = role
        self.epoch = epoch
        self.bytes = bytes
    }

    /// `version (1) || suite (1) || role (1) || epoch (4) || length (4) || public key (1216)`.
    public var encoded: Data {
        var writer = CanonicalWriter()
        writer.write(Self.formatVersion)
        writer.write(KeySuite.code)
        writer.write(role.code)
        writer.write(epoch)
        writer.write(bytes, length: UInt32.self)
        return Data(writer.bytes)
    }

    /// Reads exactly what ``encoded`` writes for a key of the right size, else ``SlotError/malformed``.
    public init(encoded: Data) throws(SlotError) {
        var reader = SlotReader(encoded)
        guard try reader.byte() == Self.formatVersion, try reader.byte() == KeySuite.code,
            let role = KeyRole(code: try reader.byte())
        else { throw .malformed }
        let epoch = try reader.uint32()
        guard try reader.uint32() == KeySuite.publicKeyByteCount else { throw .malformed }
        self.init(role: role, epoch: epoch, bytes: try reader.bytes(KeySuite.publicKeyByteCount))
        try reader.finish(encoded, canonical: self.encoded)
    }

    /// The library's key, or ``SlotError/invalidPublicHalf(_:)``.
    func key() throws(SlotError) -> XWingMLKEM768X25519.PublicKey {
        do {
            return try XWingMLKEM768X25519.PublicKey(rawRepresentation: bytes)
        } catch {
            throw .invalidPublicHalf(role)
        }
    }
}
