import Crypto
package import Foundation

/// The two forms of age's tagged recipients (C2SP age, "The tagged recipient types").
package enum TaggedKind: String, Sendable, CaseIterable {
    /// HPKE with P-256.
    case p256 = "p256tag"
    /// HPKE with ML-KEM-768 and P-256.
    case hybrid = "mlkem768p256tag"

    /// The purpose that HPKE and the tag are bound to.
    var info: Data { Data("age-encryption.org/\(rawValue)".utf8) }

    static let pointByteCount = 65
    static let latticeCiphertextByteCount = 1088
    static let latticeKeyByteCount = 1184

    var encapsulatedByteCount: Int {
        switch self {
        case .p256: Self.pointByteCount
        case .hybrid: Self.latticeCiphertextByteCount + Self.pointByteCount
        }
    }
}

/// A stanza of a header that a tagged recipient wrote. It holds a file's key, encrypted.
struct TaggedStanza: Equatable {
    let kind: TaggedKind
    let tag: Data
    let encapsulated: Data
    let ciphertext: Data

    /// A file's key has 16 bytes.
    static let fileKeyByteCount = 16
    private static let tagByteCount = 4
    private static let ciphertextByteCount = fileKeyByteCount + 16

    /// Reads a stanza of a header; nil for one of another type.
    ///
    /// - Parameters:
    ///   - words: its type and arguments.
    ///   - body: its bytes. They are encrypted, so they are no secret.
    init?(words: ArraySlice<String>, body: Data) throws(TaggedStanzaError) {
        guard let kind = words.first.flatMap({ TaggedKind(rawValue: $0) }) else { return nil }
        guard words.count == 3 else { throw .argumentCount }
        guard let tag = Self.bytes(words[words.startIndex + 1]), tag.count == Self.tagByteCount else { throw .tag }
        guard let encapsulated = Self.bytes(words[words.startIndex + 2]),
            encapsulated.count == kind.encapsulatedByteCount,
            TaggedPoint(uncompressed: Data(encapsulated.suffix(TaggedKind.pointByteCount))) != nil
        else { throw .encapsulatedKey }
        // A longer body could be made to open with several keys, and its fate would tell which one.
        guard body.count == Self.ciphertextByteCount else { throw .body }
        (self.kind, self.tag, self.encapsulated, ciphertext) = (kind, tag, encapsulated, body)
    }

    init(_ kind: TaggedKind, tag: Data, encapsulated: Data, ciphertext: Data) {
        (self.kind, self.tag, self.encapsulated, self.ciphertext) = (kind, tag, encapsulated, ciphertext)
    }

    private static func bytes(_ text: String) -> Data? { Base64.decode(text.utf8).map { Data($0) } }

    var words: [String] { [kind.rawValue, Base64.encode(Array(tag)), Base64.encode(Array(encapsulated))] }

    /// The sender's point.
    var ephemeralKey: Data { Data(encapsulated.suffix(TaggedKind.pointByteCount)) }
    /// The ciphertext of ML-KEM; of a hybrid stanza alone.
    var latticeCiphertext: Data { Data(encapsulated.prefix(TaggedKind.latticeCiphertextByteCount)) }

    /// Whether the stanza says that it is for the holder of `point`. Without the private key nobody knows whether it is.
    func isAddressed(to point: TaggedPoint) -> Bool { tag == point.tag(kind, encapsulated) }
}

/// Why a stanza of a known type is malformed. The header is not one that age wrote, or was changed.
enum TaggedStanzaError: Error, Equatable {
    case argumentCount
    case tag
    case encapsulatedKey
    case body

    var explanation: String {
        let fault =
            switch self {
            case .argumentCount: "it has another number of arguments"
            case .tag: "its tag is not the Base64 of 4 bytes"
            case .encapsulatedKey:
                "its encapsulated key is no canonical Base64, does not have its size, or holds no point"
            case .body: "its body does not have 32 bytes"
            }
        return "The file's header has a malformed stanza: \(fault). Nothing was decrypted; get the file again."
    }
}

/// The point of a recipient on P-256, as the tags of its stanzas name it.
package struct TaggedPoint: Sendable, Equatable {
    /// 33 bytes.
    package let compressed: Data
    /// 65 bytes.
    package let uncompressed: Data

    /// Nil when the bytes are no point of the curve in this form.
    init?(compressed bytes: Data) {
        guard bytes.count == 33, let key = try? P256.KeyAgreement.PublicKey(compressedRepresentation: bytes) else {
            return nil
        }
        self.init(key)
    }

    /// Nil when the bytes are no point of the curve in this form.
    package init?(uncompressed bytes: Data) {
        guard bytes.count == TaggedKind.pointByteCount,
            let key = try? P256.KeyAgreement.PublicKey(x963Representation: bytes)
        else { return nil }
        self.init(key)
    }

    private init(_ key: P256.KeyAgreement.PublicKey) {
        (compressed, uncompressed) = (key.compressedRepresentation, key.x963Representation)
    }

    /// The first bytes of a hash over the encapsulated key and this point.
    func tag(_ kind: TaggedKind, _ encapsulated: Data) -> Data {
        let point = kind == .p256 ? compressed : uncompressed
        let input = SymmetricKey(data: encapsulated + Data(SHA256.hash(data: point)).prefix(4))
        return Data(Data(HKDF<SHA256>.extract(inputKeyMaterial: input, salt: kind.info)).prefix(4))
    }
}
