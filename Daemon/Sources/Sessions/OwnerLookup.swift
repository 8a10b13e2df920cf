import Callers
package import Owners

/// Finds the user of a program that comes through a socket.
package struct OwnerLookup: Sendable {
    /// The user for whom a program with this user number is served.
    let user: @Sendable (_ userID: UInt32) throws -> SystemUser

    /// One user; programs of other users are sent away without a word.
    package static func only(_ user: SystemUser) -> OwnerLookup {
        OwnerLookup { userID in
            guard userID == user.id else { throw CallerError.foreignUser(userID) }
            return user
        }
    }

    /// Each program is its own user's, as the system names them.
    package static let anybody = OwnerLookup { userID in try SystemUser(id: userID) }

    /// As ``anybody``, but programs with one of these user numbers are sent away without a word.
    package static func anybodyBut(_ refused: Set<UInt32>) -> OwnerLookup {
        OwnerLookup { userID in
            guard !refused.contains(userID) else { throw CallerError.foreignUser(userID) }
            return try SystemUser(id: userID)
        }
    }

    /// For tests: each program counts as this user's. No option of a daemon uses this.
    package static func always(_ user: SystemUser) -> OwnerLookup { OwnerLookup { _ in user } }

    package init(_ served: ServedUsers) {
        switch served {
        case .only(let user): self = .only(user)
        case .anybody: self = .anybody
        }
    }

    init(_ user: @escaping @Sendable (_ userID: UInt32) throws -> SystemUser) { self.user = user }
}
