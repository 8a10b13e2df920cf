import Crypto
package import Foundation
import SecretMemory

/// A public key to which files are encrypted.
///
/// As text it is Bech32 with one of the prefixes `age1tag` (33 bytes, a compressed point), `age1tagpq` (1,249 bytes, the encapsulation
/// key of ML-KEM-768 and an uncompressed point), which age knows from 1.3 on, and `age1ostiary` (either), for which every age that has
/// plugins starts this one.
package struct AgeRecipient: Sendable, Equatable {
    package let point: TaggedPoint
    /// The encapsulation key of ML-KEM-768; nil for a recipient on P-256 alone.
    package let latticeKey: Data?

    package init(_ point: TaggedPoint, latticeKey: Data? = nil) { (self.point, self.latticeKey) = (point, latticeKey) }

    package var kind: TaggedKind { latticeKey == nil ? .p256 : .hybrid }

    // MARK: text

    private static let ownPrefix = "age1ostiary"
    private static let curvePrefix = "age1tag"
    private static let hybridPrefix = "age1tagpq"

    /// Reads the text of a recipient.
    package init(_ text: String) throws(AgeTextError) {
        let decoded: Bech32.Decoded
        do { decoded = try Bech32.decode(text) } catch { throw .encoding(error) }
        let bytes = Data(decoded.bytes)
        switch decoded.prefix {
        case Self.curvePrefix: try self.init(p256: bytes)
        case Self.hybridPrefix: try self.init(hybrid: bytes)
        case Self.ownPrefix:
            let isHybrid = bytes.count > TaggedKind.pointByteCount
            if isHybrid { try self.init(hybrid: bytes) } else { try self.init(p256: bytes) }
        default: throw .foreign
        }
    }

    private init(p256 bytes: Data) throws(AgeTextError) {
        guard let point = TaggedPoint(compressed: bytes) else { throw .publicKey }
        self.init(point)
    }

    private init(hybrid bytes: Data) throws(AgeTextError) {
        guard bytes.count == TaggedKind.latticeKeyByteCount + TaggedKind.pointByteCount,
            let point = TaggedPoint(uncompressed: Data(bytes.suffix(TaggedKind.pointByteCount)))
        else { throw .publicKey }
        let latticeKey = Data(bytes.prefix(TaggedKind.latticeKeyByteCount))
        do { _ = try MLKEM768.PublicKey(rawRepresentation: latticeKey) } catch { throw .publicKey }
        self.init(point, latticeKey: latticeKey)
    }

    private var bytes: [UInt8] {
        guard let latticeKey else { return Array(point.compressed) }
        return Array(latticeKey + point.uncompressed)
    }

    /// For age from 1.3 on, which encrypts to it by itself.
    package var text: String {
        Bech32.encode(prefix: kind == .p256 ? Self.curvePrefix : Self.hybridPrefix, bytes)
    }
    /// For an older age, which starts this plugin to encrypt.
    package var pluginText: String { Bech32.encode(prefix: Self.ownPrefix, bytes) }

    // MARK: encryption

    /// The constraint under which age mixes recipients: hybrid ones go with others of their strength alone.
    var labels: [String] { kind == .hybrid ? ["postquantum"] : [] }

    /// A stanza that holds the file's key for the owner of the private key alone.
    func wrap(_ fileKey: borrowing SecretBytes) throws -> TaggedStanza {
        let recipient = try P256.KeyAgreement.PublicKey(x963Representation: point.uncompressed)
        var plain = Data(exposing: fileKey)
        defer { plain.wipe() }
        guard let latticeKey else {
            var sender = try HPKE.Sender(recipientKey: recipient, ciphersuite: .age, info: kind.info)
            return stanza(sender.encapsulatedKey, try sender.seal(plain))
        }
        let lattice = try MLKEM768.PublicKey(rawRepresentation: latticeKey).encapsulate()
        let ephemeral = P256.KeyAgreement.PrivateKey()
        let agreed = try ephemeral.sharedSecretFromKeyAgreement(with: recipient)
        let secret = HybridSecret.combine(
            lattice: SecretBytes(lattice.sharedSecret), curve: SecretBytes(SymmetricKey(data: agreed)),
            ephemeral: ephemeral.publicKey.x963Representation, recipient: point.uncompressed)
        let schedule = KeySchedule(.hybrid, sharedSecret: secret, info: kind.info)
        let box = try ChaChaPoly.seal(plain, using: schedule.key, nonce: ChaChaPoly.Nonce(data: schedule.nonce))
        return stanza(lattice.encapsulated + ephemeral.publicKey.x963Representation, box.ciphertext + box.tag)
    }

    private func stanza(_ encapsulated: Data, _ ciphertext: Data) -> TaggedStanza {
        TaggedStanza(kind, tag: point.tag(kind, encapsulated), encapsulated: encapsulated, ciphertext: ciphertext)
    }
}

extension HPKE.Ciphersuite {
    /// That of recipients on P-256.
    static let age = HPKE.Ciphersuite(kem: .P256_HKDF_SHA256, kdf: .HKDF_SHA256, aead: .chaChaPoly)
}

/// Why a text is no recipient or identity of this plugin.
package enum AgeTextError: Error, Equatable {
    case encoding(Bech32Error)
    /// It is one of another plugin, or of age itself.
    case foreign
    /// It holds no public key.
    case publicKey
    /// It was written by a newer version.
    case version
    /// It does not have the size of its kind.
    case size

    var explanation: String {
        switch self {
        case .encoding(let error): error.explanation
        case .foreign: "it belongs to another plugin"
        case .publicKey: "it holds no public key"
        case .version: "a newer version of Ostiary wrote it"
        case .size: "a part of it is missing, or there is too much"
        }
    }
}
