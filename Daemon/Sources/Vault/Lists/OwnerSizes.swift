/// How many bytes the objects and items of owners take, of those owners for whom somebody has asked. The count of an owner follows each
/// change, and is undone with it.
///
/// It is no part of the format: it is added up from the rows when somebody asks for the first time. It decides how much an owner may still
/// store, and nothing about what is stored.
struct OwnerSizes {
    private var counts: [VaultID: Int] = [:]
    /// Changes of the counts in the running transaction.
    private var changes: [(owner: VaultID, difference: Int)] = []
    /// Owners of whose rows the running transaction changed some while their count was not known. A count that is learned after that
    /// holds these changes, too, so nobody knows it once they are undone.
    private var unknown: Set<VaultID> = []

    var changeCount: Int { changes.count }

    /// Nil when nobody has asked yet.
    subscript(owner: VaultID) -> Int? { counts[owner] }

    mutating func learn(_ count: Int, of owner: VaultID) { counts[owner] = count }

    mutating func change(_ owner: VaultID, by difference: Int) {
        guard let count = counts[owner] else { preconditionFailure("only a known count is changed") }
        counts[owner] = count + difference
        changes.append((owner, difference))
    }

    /// Rows of the owner change, and nobody counts them.
    mutating func forget(_ owner: VaultID) {
        counts[owner] = nil
        unknown.insert(owner)
    }

    /// Undoes the changes behind the first `count`.
    mutating func undoChanges(after count: Int) {
        while changes.count > count {
            let (owner, difference) = changes.removeLast()
            counts[owner]? -= difference
        }
        for owner in unknown { counts[owner] = nil }
    }

    /// The transaction has ended.
    mutating func settle() { (changes, unknown) = ([], []) }
}
