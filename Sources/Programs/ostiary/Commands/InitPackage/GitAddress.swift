/// Addresses that git takes (git-clone(1)).
enum GitAddress {
    /// Whether it is an address and no folder: `https://…`, or `user@host:path` as scp has it.
    static func isOne(_ text: String) -> Bool { text.contains("://") || isSecureCopy(text) }

    /// Whether nobody on the way can change what comes from there.
    static func isSafe(_ text: String) -> Bool {
        isSecureCopy(text) || ["https://", "ssh://", "file://"].contains { text.lowercased().hasPrefix($0) }
    }

    /// A colon before the first slash, and a user before it. SSH would take a user that begins with a dash for an option.
    private static func isSecureCopy(_ text: String) -> Bool {
        guard let colon = text.firstIndex(of: ":"), text[colon...].count > 1, !text.hasPrefix("-") else { return false }
        let place = text[..<colon]
        let parts = place.split(separator: "@", omittingEmptySubsequences: false)
        return parts.count == 2 && parts.allSatisfy { !$0.isEmpty && !$0.contains("/") }
            && !text[colon...].hasPrefix("://")
    }
}
