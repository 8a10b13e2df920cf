package import Enclave
import Foundation
package import KeySlots
import Refusals
package import SecretMemory
package import Vault

/// Keeps an owner's passcode, which opens the private half of the passcode key, and counts the wrong tries at it.
///
/// There is a keeper for each kind of enclave. ``SoftwarePasscodeKeeper`` keeps records in the store and counts there. A chip
/// counts by itself, and its keeper says what the chip says.
///
/// The passcode record lies in the store whatever the keeper is, so that it changes together with the keys that it opens.
/// Setting, changing and removing therefore have two steps, see ``PasscodeTransition``. A daemon that is killed between
/// them leaves a store that the next proved passcode settles.
///
/// All calls block: for the stretching, the disk and the enclave. Every keeper passes the checks of `PasscodeKeeperContract`.
package protocol PasscodeKeeper: Sendable {
    /// Held while a passcode is checked, set, changed or removed: records, key pairs, slots and the key ring that are read
    /// inside belong together.
    var exclusively: ExclusiveAccess { get }

    /// Wrong tries in a row and what they have brought. Counts none.
    func attempts() throws -> AttemptStatus

    /// A person is about to be asked for the passcode, if there is a place to ask at. Waits for nothing.
    func personIsAsked()

    /// Throws unless there is a passcode that can be checked: nobody is asked for one that cannot.
    func requireRecords() throws

    /// Checks a passcode. The try is counted, so that nothing takes it back, before the passcode is looked at. Where a chip counts
    /// and gives no verdict, the chip's count alone stays.
    ///
    /// During an unfinished change one of the two passcodes fits at least, and both where nothing but the store counts. A
    /// success settles the change in favour of the passcode that was entered.
    ///
    /// - Parameter held: a turn at stretching and ``exclusively``, which the caller holds.
    /// - Throws: ``WrongSecret``; the refusal `lockedOut`, without a look at the passcode, while a delay runs; or the refusal
    ///   of ``requireRecords()``.
    func prove(
        _ passcode: borrowing SecretBytes, holding held: borrowing ExclusiveAccess.WithTurn
    ) throws -> ProvedPasscode

    /// Prepares the first passcode, which is to open `half`. What a chip must have before the store relies on it is made now.
    ///
    /// - Parameters:
    ///   - turn: a turn at stretching, which the caller has.
    ///   - chipOwner: for a chip whose owner has a password.
    func set(
        _ passcode: borrowing SecretBytes, opening half: PrivateHalf, in turn: borrowing StretchTurn,
        as chipOwner: OwnerPassword?
    ) throws -> any PasscodeTransition

    /// Prepares another passcode in the place of a proved one. Until the change is finished, the store has records by which
    /// either opens `half`.
    ///
    /// - Parameter turn: a turn at stretching, which the caller has.
    func change(
        _ proved: ProvedPasscode, to passcode: borrowing SecretBytes, opening half: PrivateHalf,
        in turn: borrowing StretchTurn
    ) throws -> any PasscodeTransition

    /// Prepares that there is no passcode any more in the place of a proved one.
    func remove(_ proved: ProvedPasscode) throws -> any PasscodeTransition
}

/// A passcode that is being set, changed or removed.
///
/// First ``store(in:)`` puts into the store what the next start needs, with the old passcode still good during a change.
/// Then ``finish()`` has a chip follow, and drops what is no longer needed. So store and chip fit each other after a kill at
/// any moment.
package protocol PasscodeTransition {
    /// Writes records, within the transaction that brings the store under new keys. May be called again when that
    /// transaction did not commit.
    func store(in writer: VaultWriter) throws

    /// Completes it, once the transaction was committed. When this fails the new keys stand all the same, and a passcode that
    /// is proved later completes it. A removal never fails: without records nothing asks the chip for the passcode any more.
    func finish() throws
}

extension PasscodeKeeper {
    package func personIsAsked() {}

    /// Waits for a turn at stretching and for the access, and checks a passcode that the daemon itself asked for.
    package func prove(_ passcode: borrowing SecretBytes) throws -> ProvedPasscode {
        let entered = SecretBytes(copying: passcode)
        return try exclusively.withStretchTurnAndAccess(as: .daemon) { try prove(entered, holding: $0) }
    }

    /// Throws the refusal that a try would get because of a delay: nobody is asked for what could not be checked.
    package func requireNoDelay() throws {
        let remaining = try attempts().remaining
        guard remaining < AttemptStatus.forGood else { throw Refusal.passcodeBlocked }
        if remaining > .zero { throw Refusal.lockedOut(remaining) }
    }
}

/// What a proved passcode opens.
package struct PasscodeKey: Sendable {
    /// Private half of the passcode key: opens class keys and slots.
    package let half: PrivateHalf
    /// Opens keys in the enclave that require the passcode.
    package let session: any PasscodeSession

    package init(half: PrivateHalf, session: any PasscodeSession) {
        self.half = half
        self.session = session
    }
}

/// A passcode that has just been proved. It exists while what needs it is done, and is wiped with its last reference.
package final class ProvedPasscode: Sendable {
    package let key: PasscodeKey
    /// The stretched passcode and the record it fits, for sealing a successor under the same passcode.
    let stretched: SecretBytes
    package let record: PasscodeRecord

    /// Private half of the passcode key.
    package var half: PrivateHalf { key.half }

    package init(key: PasscodeKey, stretched: consuming SecretBytes, record: PasscodeRecord) {
        self.key = key
        self.stretched = stretched
        self.record = record
    }
}
