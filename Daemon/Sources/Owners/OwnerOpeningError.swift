package import Vault

/// Why the daemon cannot serve a user. Each says what to do; none changes anything.
package enum OwnerOpeningError: Error, Equatable, CustomStringConvertible {
    /// The system does not name the user with this number.
    case unnamedUser(UInt32)
    case otherUser(stored: UserRecord, present: SystemUser)
    case unknownUserName(String, stored: UserRecord, present: SystemUser)
    /// The user's rows in the store do not verify.
    case unreadable(String)

    package var description: String {
        switch self {
        case .unnamedUser(let id):
            "The system has no name for user \(id), but a store belongs to a name and a number. Add the user to the "
                + "password database, or repair the service that names users. Then start again."
        case .otherUser(let stored, let present):
            "The store belongs to \(stored.name) (user \(stored.uid)), but the daemon runs as \(present.name) (user "
                + "\(present.id)). If they are the same person, start ostiaryd once with --adopt-user-name "
                + "\(stored.name). If not, use another state folder. Nothing was changed."
        case .unknownUserName(let name, let stored, let present):
            "\(present.name) (user \(present.id)) cannot take over the store of \(name), because it belongs to "
                + "\(stored.name) (user \(stored.uid)). Nothing was changed; check the name after --adopt-user-name."
        case .unreadable(let what): what
        }
    }
}
