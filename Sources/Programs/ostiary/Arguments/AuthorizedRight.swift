import OstiaryClient

/// A right that was authorized for this command; the authorization ends with it.
struct AuthorizedRight {
    let right: StoredRight
    let context: AuthorizationContext
    let grant: Grant

    /// Authorizes `right`; blocks while the person is asked.
    init(_ right: StoredRight, interaction: Interaction) throws {
        self.right = right
        context = AuthorizationContext()
        grant = try context.authorize(.right(id: right.id), interaction: interaction)
    }

    /// The proved factors in words for people: `passcode (key-bound)`.
    static func proof(factors: [String], strength: String) -> String {
        guard !factors.isEmpty else { return "nothing had to be proved" }
        let names = factors.map(\.escapedName).joined(separator: ", ")
        return strength.isEmpty ? names : "\(names) (\(strength.escapedName))"
    }
}
