public import Foundation

/// An account, as authenticators show and keep it.
public struct WebAuthnUser: Sendable, Equatable, Encodable {
    /// 1 to 64 bytes that say nothing about the person; random ones are best.
    public var handle: Data
    public var name: String
    public var displayName: String

    public init(handle: Data, name: String, displayName: String? = nil) {
        self.handle = handle
        self.name = name
        self.displayName = displayName ?? name
    }

    private enum CodingKeys: String, CodingKey {
        case handle = "id"
        case name, displayName
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(handle.base64URLEncoded, forKey: .handle)
        try container.encode(name, forKey: .name)
        try container.encode(displayName, forKey: .displayName)
    }
}

/// A credential and how to reach its authenticator.
public struct CredentialDescriptor: Sendable, Equatable, Encodable {
    public let id: Data
    public let transports: [String]

    init(_ record: CredentialRecord) {
        id = record.id
        transports = record.transports
    }

    private enum CodingKeys: CodingKey {
        case type, id, transports
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode("public-key", forKey: .type)
        try container.encode(id.base64URLEncoded, forKey: .id)
        if !transports.isEmpty { try container.encode(transports, forKey: .transports) }
    }
}
