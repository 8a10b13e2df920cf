/// Why the daemon cannot serve a user. Each says what to do; none changes anything.
package enum OwnerOpeningError: Error, Equatable, CustomStringConvertible {
    /// The system does not name the user with this number.
    case unnamedUser(UInt32)
    /// The store of one user belongs to another one.
    case otherUser(stored: SystemUser, present: SystemUser)
    case unknownUserName(String, stored: SystemUser, present: SystemUser)
    /// The store has a user of the same number or name, beside others.
    case knownOtherwise(stored: SystemUser, present: SystemUser)
    /// The daemon serves one user, and this is another one.
    case notServed(UInt32)
    /// Rows of the store do not verify.
    case unreadable(Part)
    /// The user's part of the store is being removed.
    case beingForgotten
    /// Another part of the store takes the place of the user's.
    case beingReplaced
    /// The daemon ends.
    case ended

    /// Rows without which a user is not served.
    package enum Part: Sendable {
        case user
        case keyPair

        package var words: String {
            switch self {
            case .user: "The user's row"
            case .keyPair: "A key pair"
            }
        }
    }

    package var description: String {
        switch self {
        case .unnamedUser(let id):
            "The system has no name for user \(id), but a store belongs to a name and a number. Add the user to the "
                + "password database, or repair the service that names users. Then start again."
        case .otherUser(let stored, let present):
            "The store belongs to \(stored.name) (user \(stored.id)), but the daemon runs as \(present.name) (user "
                + "\(present.id)). If they are the same person, start ostiaryd once with --adopt-user-name "
                + "\(stored.name). If not, use another state folder. Nothing was changed."
        case .unknownUserName(let name, let stored, let present):
            "\(present.name) (user \(present.id)) cannot take over the store of \(name), because it belongs to "
                + "\(stored.name) (user \(stored.id)). Nothing was changed; check the name after --adopt-user-name."
        case .knownOtherwise(let stored, let present):
            "The store knows \(stored.name) (user \(stored.id)), and the system says \(present.name) (user "
                + "\(present.id)). The user was renamed, or the name or number is now another person's. Nothing was changed."
        case .notServed(let id): "The daemon serves another user than \(id)."
        case .unreadable(let part):
            "\(part.words) in the store does not verify. Restore the store from a backup."
        case .beingForgotten: "The user's part of the store is being removed."
        case .beingReplaced: "A copy of the user's own store is taking the place of the user's part of the store."
        case .ended: "The daemon ends and serves nobody any more."
        }
    }
}
