import Glibc
import Synchronization

/// The system's records of logins, each with its user and terminal (utmp(5)). A system that keeps none has no logins.
package enum LoginRecords {
    /// getutxent(3) and getpwuid(3) use static memory.
    private static let lock = Mutex(())

    package static func hasLogin(of userID: UInt32, on line: String) -> Bool {
        lock.withLock { _ in
            guard let user = unsafe getpwuid(userID) else { return false }
            let name = unsafe String(cString: user.pointee.pw_name)
            setutxent()
            defer { endutxent() }
            while let entry = unsafe getutxent() {
                guard unsafe entry.pointee.ut_type == Int16(USER_PROCESS) else { continue }
                if unsafe text(of: entry.pointee.ut_line) == line,
                    unsafe text(of: entry.pointee.ut_user) == name
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
