import Enclave
import Foundation
import Synchronization

/// The connection to a chip. All but ``isStuck`` and ``stick()`` belongs to the chip's thread.
final class ChipLink: @unchecked Sendable {
    // SAFETY: (@unchecked) only the chip's thread uses the variables, one piece of work after the other.
    private let location: TPMLocation
    private var connection: Connection?
    private var pinned: StorageKeyName?
    private let stuck = Atomic(false)

    init(_ location: TPMLocation, storageKey: StorageKeyName?) {
        self.location = location
        pinned = storageKey
    }

    /// Whether the thread still waits for the answer to a request that was given up.
    var isStuck: Bool { stuck.load(ordering: .acquiring) }

    func stick() { stuck.store(true, ordering: .releasing) }

    /// The request that was given up has ended.
    func recover() {
        disconnect()
        stuck.store(false, ordering: .releasing)
    }

    func perform<Result: ~Copyable>(
        isRepeatable: Bool, as owner: OwnerPassword?, _ request: (Connection) throws(ChipFault) -> Result
    ) throws(EnclaveError) -> Result {
        do {
            return try attempt(as: owner, request)
        } catch {
            guard error.mayEndWithNewConnection else { throw enclaveError(error) }
            disconnect()
            guard isRepeatable else { throw enclaveError(error) }
        }
        do {
            return try attempt(as: owner, request)
        } catch {
            if error.mayEndWithNewConnection { disconnect() }
            throw enclaveError(error)
        }
    }

    func forget(_ object: ChipObject) { connection?.forget(ObjectIdentifier(object)) }

    private func attempt<Result: ~Copyable>(
        as owner: OwnerPassword?, _ request: (Connection) throws(ChipFault) -> Result
    ) throws(ChipFault) -> Result {
        let connection = try connected(as: owner)
        connection.owner = owner
        defer {
            connection.owner = nil
            // tpm2-tss keeps a copy of the owner's password in a session that carried it, for as long as the session lasts.
            if owner != nil || !location.keepsLoaded { connection.rest() }
        }
        do {
            return try request(connection)
        } catch .response(let code) where code.isUnknownHandle {
            throw .forgotten(code)
        }
    }

    private func connected(as owner: OwnerPassword?) throws(ChipFault) -> Connection {
        if let connection, connection.isSpoilt { disconnect() }
        if let connection { return connection }
        let made = try Connection(location, pinned: pinned, as: owner)
        pinned = made.root.name
        connection = made
        return made
    }

    func disconnect() {
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
