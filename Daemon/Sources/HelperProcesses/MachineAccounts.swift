import Glibc
package import UnixSocket

/// The accounts of a daemon for the whole machine and of its helpers, each with a number of its own.
package struct MachineAccounts: Equatable, Sendable {
    package let daemon, identity, display, prompt, sheet, trustedPlace, fido, association, pam: UInt32

    /// Those of the helpers. Nobody is such an account, so no program of one is served.
    package var helpers: Set<UInt32> { [identity, display, prompt, sheet, trustedPlace, fido, association, pam] }

    /// Asks the password database. To be called once, at the start: a changed database counts after the next one.
    package static func resolve() throws(MissingAccount) -> MachineAccounts {
        try MachineAccounts(asking: userID(ofAccount:))
    }

    /// - Parameter userID: gives the number of the account with this name.
    package init(asking userID: (String) throws(MissingAccount) -> UInt32) throws(MissingAccount) {
        // A helper with root's number, or another one's, would have the rights that it must not have.
        var names: [UInt32: String] = [0: "root"]
        func own(_ name: String) throws(MissingAccount) -> UInt32 {
            let number = try userID(name)
            if let other = names.updateValue(name, forKey: number) { throw .shared(name, with: other) }
            return number
        }
        daemon = try own("ostiary")
        identity = try own("ostiary-identity")
        display = try own("ostiary-display")
        prompt = try own("ostiary-prompt")
        sheet = try own("ostiary-sheet")
        trustedPlace = try own("ostiary-vt")
        fido = try own("ostiary-fido")
        association = try own("ostiary-association")
        pam = try own("ostiary-pam")
    }

    static func userID(ofAccount name: String) throws(MissingAccount) -> UInt32 {
        var byteCount = 1024
        while true {
            let (code, userID) = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: byteCount) {
                memory -> (CInt, UInt32?) in
                var entry = unsafe passwd()
                var found: UnsafeMutablePointer<passwd>?
                let code = unsafe getpwnam_r(name, &entry, memory.baseAddress!, memory.count, &found)
                return unsafe (code, found?.pointee.pw_uid)
            }
            if let userID { return userID }
            switch code {
            // What getpwnam_r(3) says of a name that is not there depends on the source that was asked.
            case 0, ENOENT, ESRCH: throw .absent(name)
            case ERANGE where byteCount < 1 << 20: byteCount *= 4
            default: throw .unreadable(name, SystemCallError("getpwnam_r", subject: name, code: code))
            }
        }
    }
}

/// Why a daemon for the whole machine cannot know its accounts.
package enum MissingAccount: Error, Equatable, Sendable, CustomStringConvertible {
    case absent(String)
    /// The password database cannot be asked.
    case unreadable(String, SystemCallError)
    /// The account has the number of another one.
    case shared(String, with: String)

    package var description: String {
        switch self {
        case .absent(let name): "there is no account \(name): run `systemd-sysusers`"
        case .unreadable(let name, let error): "the account \(name) cannot be looked up: \(error)"
        case .shared(let name, let other): "the accounts \(name) and \(other) have the same number, and must not"
        }
    }
}
