import AccessControl
import Foundation
import OstiaryClient

/// An enrolled security key in `security-key list --json` and `security-key enroll --json`.
struct SecurityKeyDocument: Encodable {
    let id: String
    let name: String
    let enrolledAt: Timestamp
    /// `key-bound` or `touch-only`.
    let strength: String
    /// The AAGUID, as a UUID.
    let model: String

    init(_ key: EnrolledSecurityKey) {
        id = key.id.hexadecimal
        name = key.name
        enrolledAt = Timestamp(key.enrolledAt)
        strength = (key.verifiesUser ? Strength.keyBound : .touchOnly).rawValue
        model = Self.uuid(key.model)
    }

    private static func uuid(_ bytes: Data) -> String {
        var text = bytes.hexadecimal
        for offset in [20, 16, 12, 8] where text.count >= 32 {
            text.insert("-", at: text.index(text.startIndex, offsetBy: offset))
        }
        return text
    }
}

/// `security-key list --json`, and the table for people.
struct SecurityKeyListDocument: Encodable {
    let securityKeys: [SecurityKeyDocument]

    init(_ keys: [EnrolledSecurityKey]) { securityKeys = keys.map(SecurityKeyDocument.init) }

    func text(in timeZone: TimeZone = .current) -> String {
        var table = TextTable(header: ["NAME", "PROOF", "ENROLLED", "ID"])
        for key in securityKeys {
            table.append(key.name, key.strength, key.enrolledAt.localText(in: timeZone), key.id)
        }
        return table.text
    }
}
