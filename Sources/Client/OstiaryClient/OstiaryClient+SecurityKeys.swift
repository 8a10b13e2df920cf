public import Foundation
import OstiaryMessages

/// A security key that proves that it is you.
public struct EnrolledSecurityKey: Sendable, Equatable {
    /// 16 bytes.
    public let id: Data
    /// Your name for it.
    public let name: String
    public let enrolledAt: Date
    /// Whether it verifies the person who touches it, by a PIN or a finger. Its proofs are `key-bound` then, otherwise
    /// `touch-only`.
    public let verifiesUser: Bool
    /// The kind of key (AAGUID), 16 bytes.
    public let model: Data

    public init(id: Data, name: String, enrolledAt: Date, verifiesUser: Bool, model: Data) {
        self.id = id
        self.name = name
        self.enrolledAt = enrolledAt
        self.verifiesUser = verifiesUser
        self.model = model
    }
}

extension OstiaryClient {
    /// The enrolled security keys of the user, the oldest first. Asks nobody.
    public func securityKeys() throws -> [EnrolledSecurityKey] {
        guard case .securityKeys(let list) = try call(.listSecurityKeys(.init())).body else { throw Self.unexpected() }
        return list.keys.map(EnrolledSecurityKey.init)
    }

    /// Enrols a security key. The owner is asked, touches a key that is enrolled already, if there is one, and then the new key
    /// twice.
    ///
    /// - Parameter name: 1 to 64 bytes, and no other key's name.
    public func enrollSecurityKey(name: String, interaction: Interaction) throws -> EnrolledSecurityKey {
        let request = WireEnrollSecurityKeyRequest.with {
            $0.name = name
            $0.question = interaction.question
        }
        let answer = try call(.enrollSecurityKey(request), terminal: interaction.terminal)
        guard case .securityKeys(let list) = answer.body, let key = list.keys.first else { throw Self.unexpected() }
        return EnrolledSecurityKey(key)
    }

    /// Removes a security key: it opens nothing any more. The owner is asked. Throws `notFound`.
    public func removeSecurityKey(id: Data, interaction: Interaction) throws {
        let request = WireRemoveSecurityKeyRequest.with {
            $0.keyID = id
            $0.question = interaction.question
        }
        _ = try call(.removeSecurityKey(request), terminal: interaction.terminal)
    }

    /// Gives the security key that the person touches its first PIN, or replaces its PIN. The PINs are typed into questions of
    /// the daemon.
    public func setSecurityKeyPIN(interaction: Interaction) throws {
        let request = WireSecurityKeyPINRequest.with { $0.question = interaction.question }
        _ = try call(.securityKeyPIN(request), terminal: interaction.terminal)
    }
}

extension EnrolledSecurityKey {
    fileprivate init(_ key: WireSecurityKey) {
        self.init(
            id: key.keyID, name: key.name, enrolledAt: Date(timeIntervalSince1970: key.enrolledAt),
            verifiesUser: key.verifiesUser, model: key.model)
    }
}
