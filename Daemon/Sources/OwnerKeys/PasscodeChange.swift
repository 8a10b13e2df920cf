import AccessControl
import KeySlots
import Vault

/// Objects and items under new keys, computed before the transaction that stores them: rows that are others by then are
/// computed again in it. Nothing of it is stored or valid before.
final class RewrappedRows {
    /// The new pairs of all roles that get one.
    let fresh: [PrivateHalf]
    /// The private halves of the present keys.
    let opened: [PrivateHalf]
    /// The public halves that the passcode protects, as they were when this began.
    let former: [PublicHalf?]
    /// Whether slots that only the passcode opens are left out.
    let isRemoval: Bool
    var objects: [VaultID: ObjectRecord] = [:]
    var items: [VaultID: ItemRecord] = [:]
    private let progress: RewrappingProgress
    private let run: RewrappingProgress.Run

    init(
        _ fresh: [PrivateHalf], openedWith opened: [PrivateHalf], following former: [PublicHalf?], isRemoval: Bool,
        _ progress: RewrappingProgress, total: Int
    ) {
        (self.fresh, self.opened, self.former, self.isRemoval) = (fresh, opened, former, isRemoval)
        self.progress = progress
        run = progress.begin(total: total)
    }

    deinit { endProgress() }

    func endProgress() { progress.end(run) }

    func add(_ count: Int) { progress.add(count, of: run) }

    func replacement(for role: KeyRole) -> PublicHalf? { fresh.first { $0.role == role }?.publicHalf }

    func kept(_ slots: [KeySlot]) -> [KeySlot] {
        isRemoval ? slots.filter(PasscodeLife.opensWithoutPasscode) : slots
    }
}

/// A first or another passcode's keys, with everything that they are to open.
package struct PasscodeChange {
    let passcode: PrivateHalf
    let rows: RewrappedRows

    /// Class keys and the biometry key, all wrapped to the passcode key.
    var wrapped: [PrivateHalf] { rows.fresh.filter { $0.role != .passcode } }

    /// Says no more how far it is: the person is asked something, on a terminal that may show it.
    package func hideProgress() { rows.endProgress() }
}

/// The rows that stay when there is no passcode any more.
package struct PasscodeRemoval {
    let rows: RewrappedRows
}
