import Enclave
import Foundation

/// The TPM of one store. Its requests take turns, because a chip does one thing at a time.
///
/// The chip may be restarted, and the way to it may break, at any moment. A request then gets one new connection. No
/// command of ours changes anything that lasts in the chip, so asking twice is harmless.
final class Chip: @unchecked Sendable {
    // SAFETY: (@unchecked) `turn` is held during every use of the variables.
    private let turn = NSLock()
    private let location: TPMLocation
    private var connection: Connection?
    private var pinned: StorageKeyName?

    init(_ location: TPMLocation, storageKey: StorageKeyName?) {
        self.location = location
        pinned = storageKey
    }

    deinit { connection?.close() }

    /// The storage key's name; the same from the first successful request on.
    func storageKey() throws(EnclaveError) -> StorageKeyName {
        try perform { (connection) throws(ChipFault) in connection.root.name }
    }

    /// Does one request; blocks until it is its turn and the chip answered.
    func perform<Result: ~Copyable>(
        _ request: (Connection) throws(ChipFault) -> Result
    ) throws(EnclaveError) -> Result {
        turn.lock()
        defer { turn.unlock() }
        do {
            return try attempt(request)
        } catch {
            guard error.mayEndWithNewConnection else { throw enclaveError(error) }
            disconnect()
        }
        do {
            return try attempt(request)
        } catch {
            if error.mayEndWithNewConnection { disconnect() }
            throw enclaveError(error)
        }
    }

    /// Forgets an object in the chip; a request that waits goes first.
    func forget(_ object: ObjectIdentifier) {
        turn.lock()
        defer { turn.unlock() }
        connection?.forget(object)
    }

    private func attempt<Result: ~Copyable>(
        _ request: (Connection) throws(ChipFault) -> Result
    ) throws(ChipFault) -> Result {
        let connection = try connected()
        defer { if !location.keepsLoaded { connection.rest() } }
        do {
            return try request(connection)
        } catch .response(let code) where code.isUnknownHandle {
            throw .forgotten(code)
        }
    }

    private func connected() throws(ChipFault) -> Connection {
        if let connection, connection.isSpoilt { disconnect() }
        if let connection { return connection }
        let made = try Connection(location, pinned: pinned)
        pinned = made.root.name
        connection = made
        return made
    }

    private func disconnect() {
        connection?.close()
        connection = nil
    }

    private func enclaveError(_ fault: ChipFault) -> EnclaveError {
        fault.enclaveError {
            // If the chip does not say, an hour: the caller tries again then, and learns more.
            do { return try connection?.lockoutInterval() ?? .seconds(3600) } catch { return .seconds(3600) }
        }
    }
}
