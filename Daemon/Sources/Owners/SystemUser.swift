import ExactNames
import Glibc

/// A user as the password database names them. Two are equal if number and name are, and the name is compared by its bytes.
package struct SystemUser: Equatable, Sendable {
    package let id: UInt32
    package let name: String

    /// - Throws: ``OwnerOpeningError/unnamedUser(_:)``; a number alone would pass for another user, whose store is empty.
    package init(id: UInt32) throws(OwnerOpeningError) {
        guard let name = Self.name(ofUser: id) else { throw .unnamedUser(id) }
        self.init(id: id, name: name)
    }

    package init(id: UInt32, name: String) {
        self.id = id
        self.name = name
    }

    package static func == (left: SystemUser, right: SystemUser) -> Bool {
        left.id == right.id && ExactName(left.name) == ExactName(right.name)
    }

    /// The user whom this process runs as. The daemon asks once, at its start; everything else gets the value.
    ///
    /// - Throws: ``OwnerOpeningError/unnamedUser(_:)``.
    package static func current() throws(OwnerOpeningError) -> SystemUser { try SystemUser(id: geteuid()) }

    /// The name for services and helpers that know the user of this process without a name; nil for this user.
    package var nameToOthers: String? { id == geteuid() ? nil : name }

    /// The number for parts that otherwise mean the user of this process; nil for this user.
    package var idToOthers: UInt32? { id == geteuid() ? nil : id }

    /// The user with this name; nil where the system has none. Their name may be written in another way, or be another one: two names
    /// can have one number.
    package static func named(_ name: String) -> SystemUser? {
        find(.name(name)).flatMap { try? SystemUser(id: $0.id) }
    }

    private static func name(ofUser id: UInt32) -> String? { find(.number(id))?.name }

    private enum Key {
        case number(UInt32)
        case name(String)
    }

    /// Several threads may ask at once, so the answer lies in memory of this call's own.
    private static func find(_ key: Key) -> SystemUser? {
        var byteCount = 1024
        while byteCount <= 1 << 20 {
            let answer = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: byteCount) { memory in
                var entry = unsafe passwd()
                var found: UnsafeMutablePointer<passwd>?
                let code: CInt
                switch key {
                case .number(let id): code = unsafe getpwuid_r(id, &entry, memory.baseAddress!, memory.count, &found)
                case .name(let name): code = unsafe getpwnam_r(name, &entry, memory.baseAddress!, memory.count, &found)
                }
                guard code != ERANGE else { return Lookup.tooLarge }
                guard unsafe found != nil, let name = unsafe entry.pw_name else { return .none }
                return .user(SystemUser(id: unsafe entry.pw_uid, name: unsafe String(cString: name)))
            }
            switch answer {
            case .user(let user): return user
            case .none: return nil
            case .tooLarge: byteCount *= 4
            }
        }
        return nil
    }

    private enum Lookup {
        case user(SystemUser)
        case none
        /// The entry needs more memory.
        case tooLarge
    }
}
