import Glibc

/// A user as the password database names them.
public struct SystemUser: Equatable, Sendable {
    public let id: UInt32
    public let name: String

    /// - Throws: ``BrokerOpeningError/unnamedUser(_:)``; a number alone would pass for another user, whose store is empty.
    init(id: UInt32) throws(BrokerOpeningError) {
        guard let entry = unsafe getpwuid(id), let name = unsafe entry.pointee.pw_name else { throw .unnamedUser(id) }
        self.init(id: id, name: unsafe String(cString: name))
    }

    init(id: UInt32, name: String) {
        self.id = id
        self.name = name
    }

    /// The user whom this process runs as. The daemon asks once, at its start; everything else gets the value.
    ///
    /// - Throws: ``BrokerOpeningError/unnamedUser(_:)``.
    public static func current() throws(BrokerOpeningError) -> SystemUser { try SystemUser(id: geteuid()) }
}
