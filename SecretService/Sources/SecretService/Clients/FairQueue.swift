/// Work of several clients that is taken in turn: one piece of each group that has some, and then the next piece of the first. Within a
/// group its clients take turns in the same way.
///
/// At most one piece of a client is under way, so its calls are carried out in the order in which they came. One that sends very many waits
/// for itself, and so do the processes of a program, which are a group.
struct FairQueue<Group: Hashable & Sendable, Key: Hashable & Sendable, Work: Sendable>: Sendable {
    /// A client.
    struct Client: Hashable, Sendable {
        let group: Group
        let key: Key
    }

    private struct Line: Sendable {
        var waiting: [Work] = []
        /// The first piece that was not taken.
        var next = 0
        /// What is left of a piece that gave its turn back. It goes before those that wait.
        var rest: Work?
        var isBusy = false

        var isEmpty: Bool { rest == nil && next == waiting.count }

        mutating func take() -> Work? {
            if let rest = rest.take() { return rest }
            guard next < waiting.count else { return nil }
            defer {
                next += 1
                if next == waiting.count || next == Self.kept { drop() }
            }
            return waiting[next]
        }

        /// Taken pieces are dropped together, as each time all others move.
        private mutating func drop() {
            waiting.removeFirst(next)
            next = 0
        }

        private static var kept: Int { 64 }
    }

    private var lines: [Client: Line] = [:]
    /// The groups with clients that have work and nothing under way, in the order of their turns.
    private var turns: [Group] = []
    /// These clients of each group, in the order of theirs.
    private var turnsWithin: [Group: [Key]] = [:]

    /// Whether ``next()`` has something.
    var hasNext: Bool { !turns.isEmpty }
    var isEmpty: Bool { lines.isEmpty }

    mutating func add(_ work: Work, of client: Client) {
        let isNew = lines[client].map(\.isEmpty) ?? true
        lines[client, default: Line()].waiting.append(work)
        if isNew, lines[client]?.isBusy == false { giveTurn(to: client) }
    }

    private mutating func giveTurn(to client: Client) {
        if turnsWithin[client.group] == nil { turns.append(client.group) }
        turnsWithin[client.group, default: []].append(client.key)
    }

    /// The next piece of work, which is then under way until ``finish(_:leaving:)``; nil while nothing can begin.
    mutating func next() -> (client: Client, work: Work)? {
        guard !turns.isEmpty else { return nil }
        let group = turns.removeFirst()
        guard var keys = turnsWithin.removeValue(forKey: group), !keys.isEmpty else { return nil }
        let client = Client(group: group, key: keys.removeFirst())
        if !keys.isEmpty {
            turnsWithin[group] = keys
            turns.append(group)
        }
        guard let work = lines[client]?.take() else { return nil }
        lines[client]?.isBusy = true
        return (client, work)
    }

    /// The client's piece of work is done.
    ///
    /// - Parameter rest: what it left for the client's next turn.
    mutating func finish(_ client: Client, leaving rest: Work? = nil) {
        guard var line = lines[client], line.isBusy else { return }
        (line.rest, line.isBusy) = (rest, false)
        guard !line.isEmpty else {
            lines[client] = nil
            return
        }
        lines[client] = line
        giveTurn(to: client)
    }
}
