import MessageBus

/// The sessions of all connections. A session is that of the connection which opened it; for others it does not exist.
struct SessionTable<Session: Sendable>: Sendable {
    private struct Entry: Sendable {
        let holder: Holder
        let session: Session
    }

    private var entries: [UInt64: Entry] = [:]
    /// Those of each connection.
    private var numbers: [String: Set<UInt64>] = [:]
    private var held = Holdings(ServiceLimits.sessions)
    private var lastNumber: UInt64 = 0

    /// Adds a session, and returns its number, which no other one ever has.
    mutating func add(_ session: Session, of holder: Holder) throws(BusFault) -> UInt64 {
        do throws(ReachedLimit) { try held.take(for: holder) } catch {
            throw .tooMuch(error.words("sessions") + " Close some.")
        }
        lastNumber += 1
        entries[lastNumber] = Entry(holder: holder, session: session)
        numbers[holder.peer, default: []].insert(lastNumber)
        return lastNumber
    }

    /// The session at a path.
    ///
    /// - Throws: `NoSession` for one of another connection, as for one that does not exist.
    func session(_ path: String, of peer: String) throws(BusFault) -> Session {
        guard case .session(let number)? = ServedPath(path), let entry = entries[number],
            entry.holder.peer == peer
        else {
            throw .noSession
        }
        return entry.session
    }

    func contains(_ number: UInt64) -> Bool { entries[number] != nil }

    /// - Throws: as for ``session(_:of:)``.
    mutating func close(_ path: String, of peer: String) throws(BusFault) {
        _ = try session(path, of: peer)
        guard case .session(let number)? = ServedPath(path) else { throw .noSession }
        remove(number)
        numbers[peer]?.remove(number)
        if numbers[peer]?.isEmpty == true { numbers[peer] = nil }
    }

    private mutating func remove(_ number: UInt64) {
        if let entry = entries.removeValue(forKey: number) { held.giveBack(of: entry.holder) }
    }

    /// The connection has ended.
    mutating func forget(_ peer: String) {
        for number in numbers.removeValue(forKey: peer) ?? [] { remove(number) }
    }
}
