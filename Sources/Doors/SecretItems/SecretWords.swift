import DoorSupport

/// The door's words in questions.
public enum SecretWords {
    /// A label longer than this is left out.
    static let scalarCount = 60

    /// For reading one item.
    public static func reading(label: String?) -> String {
        guard let name = quoted(label) else { return "read a secret of the keyring" }
        return "read \(name) in the keyring"
    }

    /// For reading several items.
    public static func reading(count: Int) -> String {
        count == 1 ? reading(label: nil) : "read \(count) secrets of the keyring"
    }

    /// For changing an item, or what a collection has.
    public static func changing(label: String?) -> String {
        guard let name = quoted(label) else { return "change a secret of the keyring" }
        return "change \(name) in the keyring"
    }

    /// For deleting an item.
    public static func deleting(label: String?) -> String {
        guard let name = quoted(label) else { return "delete a secret of the keyring" }
        return "delete \(name) from the keyring"
    }

    /// For a change of a collection.
    public static func changing(collection label: String) -> String {
        guard let name = quoted(label) else { return "change a collection of the keyring" }
        return "change the collection \(name) of the keyring"
    }

    /// For deleting a collection and its items.
    public static func deleting(collection label: String) -> String {
        guard let name = quoted(label) else { return "delete a collection of the keyring, with all of its secrets" }
        return "delete the collection \(name) of the keyring, with all of its secrets"
    }

    /// For another default collection: what programs store goes there.
    public static func makingDefault(label: String) -> String {
        guard let name = quoted(label) else { return "have programs store new secrets in another collection" }
        return "have programs store new secrets in the collection \(name)"
    }

    /// For unlocking one thing, or several.
    public static func unlocking(label: String?, count: Int) -> String {
        guard count == 1, let name = quoted(label) else { return "unlock the keyring" }
        return "unlock \(name) in the keyring"
    }

    /// For making a collection while the store is locked.
    public static func making(label: String) -> String {
        guard let name = quoted(label) else { return "make a new collection in the keyring" }
        return "make the collection \(name) in the keyring"
    }

    /// For the secret of an application that the portal names.
    public static func application(_ id: String) -> String {
        guard let name = quoted(id) else { return "give an application its secret" }
        return "give the application \(name) its secret"
    }

    /// A program chose the text, so only one that reads as a name stands among words of the door's own.
    private static func quoted(_ text: String?) -> String? {
        guard let text, ShownText.isName(text, scalarCount: scalarCount) else { return nil }
        return "“\(text)”"
    }
}
