import Enclave
import Foundation
import Synchronization

/// The connections to a chip. All but ``isStuck`` and ``stick()`` belongs to the chip's thread.
final class ChipLink: @unchecked Sendable {
    // SAFETY: (@unchecked) only the chip's thread uses the variables, one piece of work after the other.
    private let location: TPMLocation
    /// The common connection: all is made and opened in it.
    private var connection: ChipConnection?
    private var keyConnections: KeyConnections
    private var pinned: StorageKeyName?
    private let stuck = Atomic(false)

    init(_ location: TPMLocation, storageKey: StorageKeyName?) {
        self.location = location
        keyConnections = KeyConnections(location)
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
        isRepeatable: Bool, using key: ChipObject?, as owner: OwnerPassword?,
        _ request: (ChipConnection) throws(ChipFault) -> Result
    ) throws(EnclaveError) -> Result {
        if let key, let connection = keyConnection(of: ObjectIdentifier(key)) {
            do {
                return try carryOut(request, on: connection)
            } catch {
                guard error.mayEndInCommonConnection else { throw enclaveError(error) }
                keyConnections.drop(connection)
                guard isRepeatable else { throw enclaveError(error) }
            }
        }
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

    func forget(_ object: ChipObject) {
        connection?.forget(ObjectIdentifier(object))
        keyConnections.forget(ObjectIdentifier(object))
    }

    /// The connection that has only this key; a new one if another key that is in use has the place in the common connection.
    private func keyConnection(of key: ObjectIdentifier) -> ChipConnection? {
        if let connection = keyConnections.connection(with: key) {
            if !connection.isSpoilt { return connection }
            keyConnections.drop(connection)
        }
        guard let pinned, let context = connection?.contextOfDisplaced(key) else { return nil }
        return keyConnections.connection(loading: key, from: context, pinned: pinned)
    }

    private func attempt<Result: ~Copyable>(
        as owner: OwnerPassword?, _ request: (ChipConnection) throws(ChipFault) -> Result
    ) throws(ChipFault) -> Result {
        let connection = try connected(as: owner)
        connection.owner = owner
        defer {
            connection.owner = nil
            // tpm2-tss keeps a copy of the owner's password in a session that carried it, for as long as the session lasts.
            if owner != nil || !location.keepsLoaded { connection.rest() }
        }
        return try carryOut(request, on: connection)
    }

    private func carryOut<Result: ~Copyable>(
        _ request: (ChipConnection) throws(ChipFault) -> Result, on connection: ChipConnection
    ) throws(ChipFault) -> Result {
        do {
            return try request(connection)
        } catch .response(let code) where code.isUnknownHandle {
            throw .forgotten(code)
        }
    }

    private func connected(as owner: OwnerPassword?) throws(ChipFault) -> ChipConnection {
        if let connection, connection.isSpoilt { disconnect() }
        if let connection { return connection }
        let made = try ChipConnection(location, pinned: pinned, as: owner)
        pinned = made.root.name
        connection = made
        return made
    }

    func disconnect() {
        keyConnections.close()
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
