import MessageBus
import SecretItems
import SecretMemory
import SessionCiphers

/// A secret as a program sends it.
struct SecretParcel: Sendable {
    /// The path of the session under which it is encrypted.
    let session: String
    let parameters: [UInt8]
    let value: HeldSecret
    let contentType: String
}

/// A secret as a program gets it.
struct SealedSecret: Sendable {
    enum Value: Sendable {
        case plain(HeldSecret)
        case encrypted([UInt8])
    }

    let parameters: [UInt8]
    let value: Value
}

/// How secrets travel between the service and one program.
final class SecretSession: Sendable {
    static let plain = "plain"
    static let encrypted = "dh-ietf1024-sha256-aes128-cbc-pkcs7"

    /// Nil where secrets are not encrypted.
    private let key: SessionKey?

    /// A session of the algorithm ``plain``: only the bus keeps others from the secrets.
    init() { key = nil }

    /// A session of the algorithm ``encrypted``.
    ///
    /// - Parameter peer: the program's number.
    /// - Returns: the session, and the number for the program.
    /// - Throws: `InvalidArgs` for a number that is none of the group, or one that everybody could compute with.
    static func exchanging(_ peer: [UInt8]) throws(BusFault) -> (session: SecretSession, publicValue: [UInt8]) {
        let exchange = KeyExchange()
        guard let secret = exchange.sharedSecret(with: peer) else {
            throw .invalid("The public value is no number of the group.")
        }
        return (SecretSession(SessionKey(sharedSecret: secret)), exchange.publicValue)
    }

    private init(_ key: SessionKey) { self.key = key }

    /// - Throws: as ``requireEncryption(of:)``.
    func seal(_ opened: OpenedSecret) throws(BusFault) -> SealedSecret {
        guard let key else {
            guard !opened.isForSomePrograms else { throw Self.unencrypted }
            return SealedSecret(parameters: [], value: .plain(opened.secret))
        }
        let sealed = key.encrypt(opened.secret.bytes)
        return SealedSecret(parameters: sealed.vector, value: .encrypted(sealed.value))
    }

    /// Whether the session carries the secret of an item. Each program of the session can read along on the bus, so what is for certain
    /// programs goes through it encrypted alone.
    func carries(_ item: ListedSecret) -> Bool { key != nil || !item.isForSomePrograms }

    /// - Throws: `NotSupported` for an item that the session does not carry.
    func requireEncryption(of item: ListedSecret) throws(BusFault) {
        guard carries(item) else { throw Self.unencrypted }
    }

    static let unencrypted = BusFault.unsupported(
        "The item is for certain programs, and each program of the session can read along on the bus. Open a session of the algorithm "
            + "\(encrypted).")

    /// - Throws: `InvalidArgs` for what was not sealed for this session.
    func open(_ parcel: SecretParcel) throws(BusFault) -> HeldSecret {
        guard let key else {
            guard parcel.parameters.isEmpty else { throw Self.unopened }
            return parcel.value
        }
        guard let secret = key.decrypt(parcel.value.bytes, vector: parcel.parameters) else { throw Self.unopened }
        return HeldSecret(secret)
    }

    private static let unopened = BusFault.invalid("The secret is not encrypted as the session has it.")
}

extension BusWriter {
    /// Writes a secret as programs get it (`(oayays)`).
    mutating func append(_ sealed: SealedSecret, session: String, contentType: String) throws(BusFault) {
        try appendStructure(of: "oayays") { (values) throws(BusFault) in
            try values.append(objectPath: session)
            try values.append(bytes: sealed.parameters)
            switch sealed.value {
            case .plain(let secret): try values.append(secret: secret.bytes)
            case .encrypted(let bytes): try values.append(bytes: bytes)
            }
            try values.append(contentType)
        }
    }
}
