import Glibc
import Synchronization

/// Tells who is logged in on which terminal.
public protocol LoginRecords: Sendable {
    /// Whether the user is logged in on `line`, a terminal's name below `/dev`, such as `pts/3`.
    func hasLogin(of userID: UInt32, on line: String) -> Bool
}

/// The system's records (utmp(5)). A system that keeps none has no logins.
public struct SystemLoginRecords: LoginRecords {
    /// getutxent(3) and getpwuid(3) use static memory.
    private static let lock = Mutex(())

    public init() {}

    public func hasLogin(of userID: UInt32, on line: String) -> Bool {
        Self.lock.withLock { _ in
            guard let user = unsafe getpwuid(userID) else { return false }
            let name = unsafe String(cString: user.pointee.pw_name)
            setutxent()
            defer { endutxent() }
            while let entry = unsafe getutxent() {
                guard unsafe entry.pointee.ut_type == Int16(USER_PROCESS) else { continue }
                if unsafe Self.text(of: entry.pointee.ut_line) == line,
                    unsafe Self.text(of: entry.pointee.ut_user) == name
                {
                    return true
                }
            }
            return false
        }
    }

    /// A field of fixed size, which need not end in NUL.
    private static func text<Field>(of field: Field) -> String {
        unsafe withUnsafeBytes(of: field) { unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
