import Foundation
import OstiaryClient

/// A passkey of this machine in `passkey list --json` and `passkey show --json`.
struct PasskeyDocument: Encodable {
    let id: String
    let relyingParty: String
    /// These three are empty where the relying party gave none.
    let relyingPartyName: String
    let userName: String
    let userDisplayName: String
    let userID: Data
    let createdAt: Timestamp
    let signatures: UInt32
    let publicKey: Data

    init(_ passkey: ListedPasskey) {
        id = passkey.id.hexadecimal
        relyingParty = passkey.relyingParty
        relyingPartyName = passkey.relyingPartyName
        userName = passkey.userName
        userDisplayName = passkey.userDisplayName
        userID = passkey.userID
        createdAt = Timestamp(passkey.createdAt)
        signatures = passkey.signatureCount
        publicKey = passkey.publicKey
    }

    func text(in timeZone: TimeZone = .current) -> String {
        var table = TextTable()
        table.append("id", id)
        table.append("relying party", relyingParty)
        if !relyingPartyName.isEmpty { table.append("its name", relyingPartyName) }
        table.append("account", userName)
        if !userDisplayName.isEmpty { table.append("person", userDisplayName) }
        table.append("user handle", userID.hexadecimal)
        table.append("created", createdAt.localText(in: timeZone))
        table.append("signatures", "\(signatures)")
        return table.text
    }
}

/// `passkey list --json`, and the table for people.
struct PasskeyListDocument: Encodable {
    let passkeys: [PasskeyDocument]

    init(_ passkeys: [ListedPasskey]) { self.passkeys = passkeys.map(PasskeyDocument.init) }

    func text(in timeZone: TimeZone = .current) -> String {
        var table = TextTable(header: ["ID", "RELYING PARTY", "ACCOUNT", "SIGNATURES", "CREATED"])
        for passkey in passkeys {
            table.append(
                passkey.id, passkey.relyingParty, passkey.userName, "\(passkey.signatures)",
                passkey.createdAt.localText(in: timeZone))
        }
        return table.text
    }
}
