import Foundation
import Glibc
package import Owners

/// The folder that holds the device secret, the store and the log.
struct StateDirectory {
    let path: String

    /// Makes the folder, or checks that it is private.
    init(path: String, userID: UInt32) throws {
        self.path = path
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch { throw BrokerOpeningError.stateDirectory(path: path, "cannot be made: \(error)") }
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw BrokerOpeningError.stateDirectory(path: path, "is not a folder.")
        }
        guard status.st_uid == userID, status.st_mode & 0o077 == 0 else {
            throw BrokerOpeningError.stateDirectory(
                path: path, "must belong to you and be closed to others: chmod 700 \(path)")
        }
    }
}

/// Why the daemon cannot serve the store. Each text names the remedy; nothing is changed.
package enum BrokerOpeningError: Error, Equatable, CustomStringConvertible {
    case stateDirectory(path: String, String)
    case enclave(String)
    case store(String)
    case log(String)
    case clock(String)
    case owner(OwnerOpeningError)

    package var description: String {
        switch self {
        case .stateDirectory(let path, let what): "The state folder \(path) \(what)"
        case .enclave(let what), .store(let what), .log(let what), .clock(let what): what
        case .owner(.unreadable(let part)):
            "\(part.words) in the store does not verify, so the daemon does not start. Restore the store from a backup."
        case .owner(let error): error.description
        }
    }
}
