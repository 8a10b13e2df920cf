import MessageBus

/// Which connections belong to which client. A client is a process, and may have several connections.
struct ClientRegister<Client: AnyObject & Sendable>: Sendable {
    private var clients: [String: Client] = [:]
    private var connectionCounts: [ObjectIdentifier: Int] = [:]
    private var byProcess: [Int32: Client] = [:]
    /// Connections whose client is being found out. Each has a place as a client meanwhile.
    private var arriving: [String: Holder] = [:]
    /// The places of the clients themselves.
    private var places: [ObjectIdentifier: Holder] = [:]
    private var held: Holdings

    init(_ limits: HolderLimits) { held = Holdings(limits) }

    var all: [Client] { Array(byProcess.values) }

    func client(of peer: String) -> Client? { clients[peer] }

    /// The client that has this number, if it was seen.
    func client(ofProcess processID: Int32) -> Client? { byProcess[processID] }

    /// A connection comes whose client is to be found out.
    mutating func begin(_ holder: Holder) throws(ReachedLimit) {
        try held.take(for: holder)
        arriving[holder.peer] = holder
    }

    mutating func giveUp(_ peer: String) {
        if let holder = arriving.removeValue(forKey: peer) { held.giveBack(of: holder) }
    }

    /// - Returns: false if the connection ended since ``begin(_:)``; then nothing was entered.
    mutating func enter(_ client: Client, process processID: Int32, of peer: String) -> Bool {
        guard let holder = arriving.removeValue(forKey: peer) else { return false }
        clients[peer] = client
        let place = ObjectIdentifier(client)
        connectionCounts[place, default: 0] += 1
        // A client has one place, whatever number of connections it has.
        if places[place] == nil { places[place] = holder } else { held.giveBack(of: holder) }
        byProcess[processID] = client
        return true
    }

    /// The connection has ended.
    ///
    /// - Returns: its client, and whether that was the client's last connection.
    mutating func leave(_ peer: String) -> (client: Client, isLast: Bool)? {
        giveUp(peer)
        guard let client = clients.removeValue(forKey: peer) else { return nil }
        let place = ObjectIdentifier(client)
        let count = (connectionCounts[place] ?? 1) - 1
        connectionCounts[place] = count > 0 ? count : nil
        guard count <= 0 else { return (client, false) }
        if let holder = places.removeValue(forKey: place) { held.giveBack(of: holder) }
        // A later process may have the number by now.
        byProcess = byProcess.filter { $0.value !== client }
        return (client, true)
    }
}

/// The clients that the daemon keeps between their calls, the least recent one first. It keeps only some of a door.
struct PresenceList: Sendable {
    private(set) var order: [Int32] = []
    /// Clients that have proved something, which would end with their place.
    private var proved: Set<Int32> = []
    /// Clients for which the person is asked now, and how many questions of theirs stand.
    private var asking: [Int32: Int] = [:]
    let limit: Int

    init(limit: Int = ServiceLimits.presentClientCount) { self.limit = limit }

    /// Notes a call of a client.
    ///
    /// - Returns: whether the client is new here, and those that have to make room for it.
    mutating func touch(_ key: Int32) -> (isNew: Bool, leaving: [Int32]) {
        guard !isKept(key) else { return (false, []) }
        let place = order.firstIndex(of: key)
        if let place { order.remove(at: place) }
        order.append(key)
        return (place == nil, trim(to: limit))
    }

    private func isKept(_ key: Int32) -> Bool { proved.contains(key) || asking[key] != nil }

    /// A client keeps its place while the person is asked for it: the question would end with the place.
    mutating func beginQuestion(_ key: Int32) {
        order.removeAll { $0 == key }
        asking[key, default: 0] += 1
    }

    /// - Parameter isProved: whether the client has proved something, and keeps its place from now on.
    mutating func endQuestion(_ key: Int32, isProved: Bool) {
        guard let count = asking[key] else { return }
        asking[key] = count > 1 ? count - 1 : nil
        if isProved { proved.insert(key) }
        if !isKept(key) { order.append(key) }
    }

    mutating func remove(_ key: Int32) {
        order.removeAll { $0 == key }
        proved.remove(key)
        asking[key] = nil
    }

    /// The daemon has no room: half of those that proved nothing go, the least recent ones.
    mutating func makeRoom() -> [Int32] { trim(to: order.count / 2) }

    private mutating func trim(to count: Int) -> [Int32] {
        let leaving = Array(order.prefix(max(0, order.count - count)))
        order.removeFirst(leaving.count)
        return leaving
    }
}
