import Foundation
import SecretMemory
import SessionCiphers

/// A program that keeps its passwords with the Secret Service.
public final class SecretProgram {
    public static let service = "org.freedesktop.secrets"
    public static let root = "/org/freedesktop/secrets"
    public static let login = root + "/collection/login"
    public static let sessionCollection = root + "/collection/session"

    public let bus: BusProgram
    /// Of the encrypted sessions, by their paths.
    private var keys: [String: SessionKey] = [:]

    public init(_ address: String) throws { bus = try BusProgram(address) }

    /// Calls a method of an object; the interface is that of `kind`, such as `Item`.
    public func call(
        _ path: String, _ kind: String, _ member: String, _ arguments: [BusDatum] = []
    ) throws -> [BusDatum] {
        try bus.call(path, "org.freedesktop.Secret." + kind, member, to: Self.service, arguments)
    }

    public func send(
        _ path: String, _ kind: String, _ member: String, _ arguments: [BusDatum] = []
    ) throws -> BusProgram.Pending {
        try bus.send(path, "org.freedesktop.Secret." + kind, member, to: Self.service, arguments)
    }

    // MARK: sessions

    /// Opens a session of the algorithm `plain`.
    public func openSession() throws -> String {
        try call(Self.root, "Service", "OpenSession", [.text("plain"), .variant(.text(""))])[1].text ?? ""
    }

    /// Opens a session whose secrets are encrypted.
    public func openEncryptedSession() throws -> String {
        let exchange = KeyExchange()
        let opened = try call(
            Self.root, "Service", "OpenSession",
            [.text("dh-ietf1024-sha256-aes128-cbc-pkcs7"), .variant(.bytes(exchange.publicValue))])
        guard case .variant(let value) = opened[0], case .bytes(let peer) = value, let path = opened[1].text,
            let secret = exchange.sharedSecret(with: peer)
        else { throw BusProgramError.call("the session has no key") }
        keys[path] = SessionKey(sharedSecret: secret)
        return path
    }

    /// Makes a collection in an open store, and returns its path.
    public func makeCollection(_ label: String) throws -> String {
        let properties = BusDatum.properties(["org.freedesktop.Secret.Collection.Label": .text(label)])
        return try call(Self.root, "Service", "CreateCollection", [properties, .text("")])[0].text ?? ""
    }

    // MARK: items

    public func create(
        _ label: String, _ attributes: [String: String], _ secret: String, in collection: String = login,
        session: String, replacing: Bool = false
    ) throws -> String {
        let properties = BusDatum.properties([
            "org.freedesktop.Secret.Item.Label": .text(label),
            "org.freedesktop.Secret.Item.Attributes": .attributes(attributes),
        ])
        let made = try call(
            collection, "Collection", "CreateItem",
            [properties, parcel(secret, of: session), .flag(replacing)])
        return made[0].text ?? ""
    }

    /// A secret as the session has it.
    public func parcel(_ secret: String, of session: String, contentType: String = "text/plain") -> BusDatum {
        guard let key = keys[session] else {
            return Self.parcel(secret, session: session, contentType: contentType)
        }
        let sealed = key.encrypt(SecretBytes(Data(secret.utf8)))
        return .structure([.path(session), .bytes(sealed.vector), .bytes(sealed.value), .text(contentType)])
    }

    public static func parcel(_ secret: String, session: String, contentType: String = "text/plain") -> BusDatum {
        .structure([.path(session), .bytes([]), .bytes(Array(secret.utf8)), .text(contentType)])
    }

    public func search(_ attributes: [String: String]) throws -> (unlocked: [String], locked: [String]) {
        let found = try call(Self.root, "Service", "SearchItems", [.attributes(attributes)])
        return (found[0].paths ?? [], found[1].paths ?? [])
    }

    public func secret(_ item: String, session: String) throws -> String {
        try secret(try call(item, "Item", "GetSecret", [.path(session)])[0], of: session)
    }

    /// The text of a secret as the session has it.
    public func secret(_ parcel: BusDatum, of session: String) throws -> String {
        guard let key = keys[session] else { return Self.secret(parcel) }
        guard case .structure(let parts) = parcel, parts.count == 4, case .bytes(let vector) = parts[1],
            case .bytes(let value) = parts[2], let secret = key.decrypt(SecretBytes(Data(value)), vector: vector)
        else { throw BusProgramError.call("the secret is not encrypted as the session has it") }
        return secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    /// The text of a secret that a plain session brought.
    public static func secret(_ parcel: BusDatum) -> String {
        guard case .structure(let parts) = parcel, parts.count == 4, case .bytes(let bytes) = parts[2] else {
            return ""
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    // MARK: properties

    public func property(_ path: String, _ kind: String, _ name: String) throws -> BusDatum {
        let answer = try bus.call(
            path, "org.freedesktop.DBus.Properties", "Get", to: Self.service,
            [.text("org.freedesktop.Secret." + kind), .text(name)])
        guard case .variant(let value) = answer[0] else { return answer[0] }
        return value
    }

    public func properties(_ path: String, _ kind: String) throws -> [String: BusDatum] {
        try bus.call(
            path, "org.freedesktop.DBus.Properties", "GetAll", to: Self.service,
            [.text("org.freedesktop.Secret." + kind)])[0].dictionary ?? [:]
    }

    public func setProperty(_ path: String, _ kind: String, _ name: String, _ value: BusDatum) throws {
        _ = try bus.call(
            path, "org.freedesktop.DBus.Properties", "Set", to: Self.service,
            [.text("org.freedesktop.Secret." + kind), .text(name), .variant(value)])
    }

    // MARK: prompts

    /// Asks for objects to be unlocked; returns those that were, and the prompt for the others.
    public func unlock(_ paths: [String]) throws -> (unlocked: [String], prompt: String) {
        let answer = try call(Self.root, "Service", "Unlock", [.paths(paths)])
        return (answer[0].paths ?? [], answer[1].text ?? "")
    }

    public func show(_ prompt: String) throws { _ = try call(prompt, "Prompt", "Prompt", [.text("")]) }

    /// Waits for the end of a prompt.
    public func completion(of prompt: String, seconds: Double = 300) throws -> (isDismissed: Bool, result: BusDatum) {
        let signal = try bus.signal(seconds: seconds) { $0.path == prompt && $0.member == "Completed" }
        guard case .flag(let isDismissed) = signal.values[0], case .variant(let result) = signal.values[1] else {
            throw BusProgramError.call("the signal Completed has other values")
        }
        return (isDismissed, result)
    }
}
