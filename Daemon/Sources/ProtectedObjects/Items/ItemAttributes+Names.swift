import Foundation

extension ItemAttributes {
    /// The name by which a person knows the item.
    package var shownName: String { givenName ?? "a keychain item" }

    /// The first attribute that names the item; nil when none does.
    var givenName: String? { firstText(of: ["labl", "svce", "srvr", "acct", "atag"]) }

    /// The account that the item is for; nil when none is named.
    package var shownAccount: String? { firstText(of: ["acct"]) }

    /// Whether it holds the private half of an imported SSH key. The door signs with that, so nobody here sees for which host.
    package var isImportedSSHKey: Bool { self["svce"]?.comparedBytes == Array("ostiary.ssh.private".utf8) }

    /// The name that programs give a key. The application label is usually a digest, which is no text.
    package var label: String? { firstText(of: ["labl", "klbl"]) }

    private func firstText(of names: [String]) -> String? {
        for name in names {
            switch self[name] {
            case .text(let text)? where !text.isEmpty: return text
            case .data(let data)?:
                if let text = String(validating: data, as: UTF8.self), !text.isEmpty { return text }
            default: continue
            }
        }
        return nil
    }
}
