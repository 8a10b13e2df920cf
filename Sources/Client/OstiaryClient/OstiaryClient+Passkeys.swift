public import Foundation
import OstiaryMessages

/// A passkey of this machine.
public struct ListedPasskey: Sendable, Equatable {
    /// The credential identifier that its relying party knows, 16 bytes.
    public let id: Data
    /// A domain.
    public let relyingParty: String
    /// For people; empty if the relying party gave none, like the next two.
    public let relyingPartyName: String
    public let userName: String
    public let userDisplayName: String
    /// The user handle.
    public let userID: Data
    public let createdAt: Date
    /// The signatures so far, the one of the registration included.
    public let signatureCount: UInt32
    /// P-256, X9.63 uncompressed.
    public let publicKey: Data

    public init(
        id: Data, relyingParty: String, relyingPartyName: String, userName: String, userDisplayName: String,
        userID: Data, createdAt: Date, signatureCount: UInt32, publicKey: Data
    ) {
        self.id = id
        self.relyingParty = relyingParty
        self.relyingPartyName = relyingPartyName
        self.userName = userName
        self.userDisplayName = userDisplayName
        self.userID = userID
        self.createdAt = createdAt
        self.signatureCount = signatureCount
        self.publicKey = publicKey
    }
}

extension OstiaryClient {
    /// The passkeys of the user on this machine, the newest first. Asks nobody.
    public func passkeys() throws -> [ListedPasskey] {
        var passkeys: [ListedPasskey] = []
        while true {
            let request = WireListPasskeysRequest.with { $0.offset = UInt32(clamping: passkeys.count) }
            guard case .passkeys(let page) = try call(.listPasskeys(request)).body else { throw Self.unexpected() }
            passkeys += page.passkeys.map(ListedPasskey.init)
            if page.passkeys.isEmpty || passkeys.count >= Int(page.total) { return passkeys }
        }
    }

    /// Destroys a passkey for good. The owner is asked. Throws `notFound`.
    public func removePasskey(id: Data, interaction: Interaction) throws {
        let request = WireRemovePasskeyRequest.with {
            $0.passkeyID = id
            $0.question = interaction.question
        }
        _ = try call(.removePasskey(request), terminal: interaction.terminal)
    }
}

extension ListedPasskey {
    fileprivate init(_ passkey: WirePasskey) {
        self.init(
            id: passkey.passkeyID, relyingParty: passkey.relyingPartyID, relyingPartyName: passkey.relyingPartyName,
            userName: passkey.userName, userDisplayName: passkey.userDisplayName, userID: passkey.userID,
            createdAt: Date(timeIntervalSince1970: passkey.createdAt), signatureCount: passkey.signatureCount,
            publicKey: passkey.publicKey)
    }
}
