import Foundation

/// The number at the root of one owner's items: the sum of the generations of all leaves, as the generation of its row.
///
/// A leaf's generation never goes down, so a leaf that is older than it was, or gone, makes the sum smaller; no other leaf
/// can make up for it.
struct ItemRoot {
    let sum: UInt64

    func row(owner: VaultID) -> SealedRow {
        SealedRow(table: .itemRoots, owner: owner, key: Data(), generation: sum, columns: [])
    }
}

/// The catalogues that were read so far, by owner.
final class ItemCatalogues: @unchecked Sendable {
    // SAFETY: (@unchecked) used only inside the closures of the database queue, which run one at a time.
    private var catalogues: [VaultID: ItemCatalogue] = [:]
    /// Those read in the running transaction, which may be rolled back with what they were read from.
    private var provisional: [VaultID] = []

    /// The owner's catalogue; read and verified as a whole when it is first asked for.
    func catalogue(of owner: VaultID, in listed: ListedRows) throws -> ItemCatalogue {
        if let known = catalogues[owner] { return known }
        try listed.requireOwner(owner)
        let catalogue = try ItemCatalogue.read(owner: owner, from: listed.rows)
        catalogues[owner] = catalogue
        provisional.append(owner)
        return catalogue
    }

    /// What was read outside of a transaction is read for good.
    func settle() { provisional = [] }

    func forget(_ owner: VaultID) { catalogues[owner] = nil }

    func commit() {
        provisional = []
        for catalogue in catalogues.values { catalogue.commit() }
    }

    func rollBack() {
        for owner in provisional { catalogues[owner] = nil }
        provisional = []
        for catalogue in catalogues.values { catalogue.rollBack() }
    }

    /// Writes the leaves that the running transaction changed, each once, and the roots above them.
    func writeChanges(to rows: RowStore) throws {
        for (owner, catalogue) in catalogues {
            let leaves = catalogue.sealedLeaves(owner: owner)
            guard !leaves.isEmpty else { continue }
            for leaf in leaves { try rows.put(leaf) }
            try rows.put(ItemRoot(sum: catalogue.sum).row(owner: owner))
        }
    }
}
