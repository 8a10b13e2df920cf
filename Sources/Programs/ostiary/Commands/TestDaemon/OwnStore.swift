import Foundation
import Glibc
import OstiaryClient
import UnixSocket

/// The store that programs with this environment use.
enum OwnStore {
    /// Throws when there is one, or a daemon of it, or when nobody can tell. A program of a test run that clears its
    /// environment, or is started by somebody else, would use it.
    static func requireAbsent() throws {
        guard case .user(let location) = try DaemonLocation.ofCurrentUser() else {
            throw CommandError.systemMode(
                "Nothing was started: a program of the test run would use that daemon, whatever its environment says. "
                    + "Use a machine or a container in user mode.")
        }
        guard !answers(location.socketPath) else {
            throw CommandError.ownStore("a daemon answers at \(location.socketPath)")
        }
        do {
            guard try FileManager.default.contentsOfDirectory(atPath: location.stateDirectory).isEmpty else {
                throw CommandError.ownStore("there is a store in \(location.stateDirectory)")
            }
        } catch CocoaError.fileReadNoSuchFile {
        } catch let error as CommandError { throw error } catch {
            throw CommandError.ownStore("\(location.stateDirectory) cannot be read, so there may be a store")
        }
    }

    /// Anything but the lack of a listener counts as an answer, even a socket of somebody else.
    static func answers(_ path: String) -> Bool {
        do throws(SystemCallError) {
            _ = try UnixSocket.connect(to: path)
            return true
        } catch { return ![ENOENT, ECONNREFUSED, ENOTDIR].contains(error.code) }
    }
}
