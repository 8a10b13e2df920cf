package import AccessControl
import Enclave
package import KeySlots
import Synchronization
import Vault

/// The owner's key pairs: public halves always, private halves as long as they may be in memory.
///
/// Without a passcode the enclave opens the class keys at start. With one, only `always` is open at start; the others and
/// the biometry key come with a passcode entry. A lock wipes `whenUnlocked` and `whenPasscodeSet`; `afterFirstUnlock` and
/// the biometry key stay until the account ends. The passcode key itself is never kept here.
package final class KeyRing: Sendable {
    private struct Contents {
        var publicHalves: [KeyRole: PublicHalf] = [:]
        var privateHalves: [KeyRole: PrivateHalf] = [:]
        /// Counts the locks: what was proved before one opens nothing after it.
        var era: UInt64 = 0
        /// Counts those changes that closed the class *when unlocked*.
        var closingCount: UInt64 = 0
        /// No private half comes any more.
        var isOver = false

        mutating func keep(_ halves: [PrivateHalf]) {
            guard !isOver else { return }
            for half in halves where half.role != .passcode && publicHalves[half.role] == half.publicHalf {
                privateHalves[half.role] = half
            }
        }

        mutating func lock() {
            guard publicHalves[.passcode] != nil else { return }
            for role in KeyRing.wipedByLock { privateHalves[role] = nil }
        }

        var lockState: LockState {
            LockState(
                isUnlocked: privateHalves[.classKey(.whenUnlocked)] != nil,
                wasUnlockedSinceStart: privateHalves[.classKey(.afterFirstUnlock)] != nil, closingCount: closingCount)
        }
    }

    /// The part of the lock's state that programs may be told.
    package struct LockState: Equatable, Sendable {
        package let isUnlocked: Bool
        package let wasUnlockedSinceStart: Bool
        /// How often the class *when unlocked* was closed: two states differ if there was a lock between them.
        package let closingCount: UInt64
    }

    private let contents: Mutex<Contents>
    /// Told of changes of the lock state.
    private let listener = Mutex<(@Sendable () -> Void)?>(nil)

    /// Wiped by a lock.
    private static let wipedByLock: Set<KeyRole> = [.classKey(.whenUnlocked), .classKey(.whenPasscodeSet)]

    package init(publicHalves: [PublicHalf], privateHalves: [PrivateHalf]) {
        contents = Mutex(Contents())
        replace(publicHalves: publicHalves, privateHalves: privateHalves, since: 0)
    }

    /// Takes a new set of key pairs; the old ones are wiped. After a lock since `era` the new set is taken locked, as far
    /// as a passcode can open it again.
    package func replace(publicHalves: [PublicHalf], privateHalves: [PrivateHalf], since era: UInt64) {
        change { contents in
            // No passcode changes the security keys' pair.
            let former = contents.publicHalves[.securityKey].map { [$0] } ?? []
            contents.publicHalves = Dictionary((former + publicHalves).map { ($0.role, $0) }) { $1 }
            contents.privateHalves = [:]
            contents.keep(privateHalves)
            if contents.era != era { contents.lock() }
        }
    }

    /// Takes the public half that the security keys have from now on; nil for none.
    package func setSecurityKeyHalf(_ half: PublicHalf?) {
        contents.withLock { $0.publicHalves[.securityKey] = half }
    }

    /// To be read before the person is asked, for ``add(_:since:)`` and ``replace(publicHalves:privateHalves:since:)``.
    package var era: UInt64 { contents.withLock { $0.era } }

    /// Keeps private halves that a passcode entry opened, unless a lock came since `era`. The passcode key is not among what
    /// can be kept, nor a half whose public half is not current.
    package func add(_ halves: [PrivateHalf], since era: UInt64) {
        change { contents in
            guard contents.era == era else { return }
            contents.keep(halves)
        }
    }

    /// Wipes what a lock ends. Without a passcode nothing could open it again, so nothing is wiped.
    package func lock() {
        change { contents in
            contents.era += 1
            contents.lock()
        }
    }

    /// Wipes every private half for good: the account ends. Halves that a running request opens later are not kept.
    package func wipe() {
        change { contents in
            contents.isOver = true
            contents.privateHalves = [:]
        }
    }

    /// Calls `tell` after each change of ``lockState``, on the thread that makes the change, which may hold locks: it must
    /// not wait.
    package func whenLockChanges(_ tell: @escaping @Sendable () -> Void) { listener.withLock { $0 = tell } }

    package var lockState: LockState { contents.withLock { $0.lockState } }

    private func change(_ body: (inout Contents) -> Void) {
        let isChanged = contents.withLock { contents in
            let former = contents.lockState
            body(&contents)
            if former.isUnlocked, !contents.lockState.isUnlocked { contents.closingCount += 1 }
            return contents.lockState != former
        }
        if isChanged { listener.withLock { $0 }?() }
    }

    package func publicHalf(_ role: KeyRole) -> PublicHalf? { contents.withLock { $0.publicHalves[role] } }

    /// The private half of a role, while it may be in memory.
    package func privateHalf(_ role: KeyRole) -> PrivateHalf? { contents.withLock { $0.privateHalves[role] } }

    package var publicHalves: [PublicHalf] { contents.withLock { Array($0.publicHalves.values) } }

    package var privateHalves: [PrivateHalf] { contents.withLock { Array($0.privateHalves.values) } }

    /// The private halves that serve every evaluation. The biometry key is not among them: only an evaluation for which a
    /// finger was recognised has it.
    package var classHalves: [PrivateHalf] { privateHalves.filter { $0.role != .biometry } }

    package var isPasscodeSet: Bool { publicHalf(.passcode) != nil }

    /// Whether objects of a class can be opened, and by what.
    package func unlockState(of availability: AvailabilityClass) -> UnlockState {
        contents.withLock { contents in
            let role = KeyRole.classKey(availability)
            if contents.privateHalves[role] != nil { return .open }
            guard contents.publicHalves[role] != nil else { return .withoutClassKey }
            return contents.publicHalves[.passcode] == nil ? .closed : .needsPasscode
        }
    }

    /// Whether the passcode was entered since the daemon started, or none is needed.
    package var wasUnlockedSinceStart: Bool { unlockState(of: .afterFirstUnlock) == .open }
}
