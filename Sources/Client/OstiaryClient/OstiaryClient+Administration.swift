public import Foundation
public import OstiaryMessages

/// A user of the machine's store, as the administrator sees them: names and counts, and nothing that the user keeps.
public struct AdministeredUser: Sendable, Equatable {
    public let userID: UInt32
    public let name: String
    public let createdAt: Date
    public let connectionCount: UInt32
    /// Whether the user's part of the store is open in the daemon.
    public let isOpen: Bool
    public let isUnlocked: Bool
    /// Nil where the user's part of the store does not verify.
    public let counts: Counts?

    public struct Counts: Sendable, Equatable {
        public let isPasscodeSet: Bool
        public let rights: UInt32
        public let keys: UInt32
        public let passkeys: UInt32
        public let programs: UInt32
        public let items: UInt32

        public init(
            isPasscodeSet: Bool, rights: UInt32, keys: UInt32, passkeys: UInt32, programs: UInt32, items: UInt32
        ) {
            self.isPasscodeSet = isPasscodeSet
            (self.rights, self.keys, self.passkeys) = (rights, keys, passkeys)
            (self.programs, self.items) = (programs, items)
        }
    }

    public init(
        userID: UInt32, name: String, createdAt: Date, connectionCount: UInt32, isOpen: Bool, isUnlocked: Bool,
        counts: Counts?
    ) {
        (self.userID, self.name, self.createdAt) = (userID, name, createdAt)
        (self.connectionCount, self.isOpen, self.isUnlocked) = (connectionCount, isOpen, isUnlocked)
        self.counts = counts
    }
}

/// All users of the machine's store.
public struct AdministeredUsers: Sendable, Equatable {
    public var users: [AdministeredUser] = []
    /// Rows of users that do not verify.
    public var unreadableCount: UInt32 = 0

    public init() {}
}

/// The requests of the administrator, who is the user with number 0. Everybody else gets `notPermitted`.
extension OstiaryClient {
    /// The users of the store, by their numbers.
    public func administeredUsers() throws -> AdministeredUsers {
        var answer = AdministeredUsers()
        while true {
            let request = WireAdminUsersRequest.with { $0.offset = UInt32(clamping: answer.users.count) }
            guard case .adminUsers(let page) = try call(.adminUsers(request)).body else { throw Self.unexpected() }
            answer.users += page.users.map(AdministeredUser.init)
            answer.unreadableCount = page.unreadableCount
            if page.users.isEmpty || answer.users.count >= Int(page.total) { return answer }
        }
    }

    /// A page of the whole audit log, beginning with record `index`.
    public func administratorLog(from index: UInt64, limit: Int) throws -> WireAdminLogPage {
        let request = WireAdminLogRequest.with {
            $0.firstIndex = index
            $0.limit = UInt32(clamping: limit)
        }
        guard case .adminLogPage(let page) = try call(.adminLog(request)).body else { throw Self.unexpected() }
        return page
    }

    /// Destroys all that the store has of a user. Throws `notFound`, and `operationNotPermitted` while programs of the user are
    /// connected.
    ///
    /// - Parameter endsConnections: whether the daemon ends these connections.
    public func forgetUser(_ userID: UInt32, name: String, endsConnections: Bool) throws {
        let request = WireForgetUserRequest.with {
            ($0.userID, $0.name, $0.endsConnections) = (userID, name, endsConnections)
        }
        _ = try call(.forgetUser(request))
    }
}

extension AdministeredUser {
    fileprivate init(_ user: WireAdminUser) {
        self.init(
            userID: user.userID, name: user.name, createdAt: Date(timeIntervalSince1970: user.createdAt),
            connectionCount: user.connectionCount, isOpen: user.isOpen, isUnlocked: user.isUnlocked,
            counts: user.counts.map {
                Counts(
                    isPasscodeSet: $0.isPasscodeSet, rights: $0.rights, keys: $0.keys, passkeys: $0.passkeys,
                    programs: $0.programs, items: $0.items)
            })
    }
}
