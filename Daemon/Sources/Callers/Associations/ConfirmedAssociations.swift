import ExactNames

/// The domains that said yes to programs. Each owner has entries of their own: an owner could otherwise see by the time of an answer which
/// programs and domains another owner uses.
struct ConfirmedAssociations: Sendable {
    struct Subject: Hashable, Sendable {
        /// Whose program it is; nil for the daemon itself.
        let owner: OwnerID?
        let relyingParty: RelyingPartyIdentifier
        let applicationID: ExactName
    }

    /// The most that are remembered of all owners together; a program names 16 domains at most.
    static let capacity = 1024

    /// When each yes was given, on the clock that no one sets.
    private var times: [Subject: Duration] = [:]

    /// Whether a yes still counts. Forgets it otherwise.
    mutating func contains(_ subject: Subject, at now: Duration) -> Bool {
        guard let then = times[subject] else { return false }
        if then <= now, now - then < Associations.lifetime { return true }
        times[subject] = nil
        return false
    }

    /// Remembers a yes. Where no place is left, the owner who has the most entries loses theirs. So nobody loses entries to an owner who
    /// has more of them.
    mutating func insert(_ subject: Subject, at now: Duration) {
        if times.count >= Self.capacity {
            let largest = ownerOfMost(preferring: subject.owner)
            times = times.filter { $0.key.owner != largest }
        }
        times[subject] = now
    }

    /// The owner who has the most entries; `owner` if no other one has more.
    private func ownerOfMost(preferring owner: OwnerID?) -> OwnerID? {
        let counts: [OwnerID?: Int] = times.keys.reduce(into: [:]) { $0[$1.owner, default: 0] += 1 }
        guard let most = counts.max(by: { $0.value < $1.value }) else { return owner }
        return most.value > counts[owner, default: 0] ? most.key : owner
    }
}
