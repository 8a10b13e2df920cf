import Cancellations
import Dispatch
import Foundation
import Glibc
import SSHFormats
import SSHKeyFiles
import SecretMemory
import Synchronization

/// A key that a program gave to the agent, with its limits.
struct AddedKey: Sendable {
    let key: SSHPrivateKey
    let comment: String
    let constraints: KeyAdditionConstraints
    /// On the agent's clock.
    let deadline: Duration?

    var publicKey: SSHPublicKey { key.publicKey }
}

/// The keys that programs gave to the agent, as `ssh-add` does. They lie in memory for secrets, and nowhere else; they end with the agent.
package final class AddedKeys: Sendable {
    private let clock: @Sendable () -> Duration
    private let keys = Mutex<[AddedKey]>([])

    /// - Parameter clock: a time that goes on while the machine sleeps.
    package init(clock: @escaping @Sendable () -> Duration = AddedKeys.timeSinceStart) { self.clock = clock }

    /// The time since the machine started, with its sleep.
    package static let timeSinceStart: @Sendable () -> Duration = {
        var time = timespec()
        unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// The keys that have not expired, in the order of their addition.
    var all: [AddedKey] { unexpired { $0 } }

    func key(named blob: some Equatable & Sequence<UInt8>) -> AddedKey? {
        all.first { $0.publicKey.blob.elementsEqual(blob) }
    }

    /// Whether a key is still there: it has not expired, and was neither removed nor replaced. Each addition makes a key of its own, whose
    /// limits may be others.
    func holds(_ key: AddedKey) -> Bool { all.contains { $0.key === key.key } }

    /// Adds a key, or replaces the one that has the same public half.
    ///
    /// - Parameters:
    ///   - lifetime: for keys that bring none, in seconds; nil for ever.
    ///   - mayReplace: whether the present key may be replaced.
    /// - Returns: false when there are too many keys, or this one may not be replaced.
    func add(
        _ addition: KeyAddition, lifetime: UInt32?, mayReplace: (AddedKey) -> Bool
    ) -> Bool {
        let seconds = addition.constraints.lifetime ?? lifetime
        let added = AddedKey(
            key: addition.key.key, comment: addition.key.comment, constraints: addition.constraints,
            deadline: seconds.map { clock() + .seconds($0) })
        let isAdded = unexpired { keys in
            guard let index = keys.firstIndex(where: { $0.publicKey == added.publicKey }) else {
                guard keys.count < AgentLimits.addedKeyCount else { return false }
                keys.append(added)
                return true
            }
            guard mayReplace(keys[index]) else { return false }
            keys[index] = added
            return true
        }
        if isAdded, let seconds { wipe(after: seconds) }
        return isAdded
    }

    /// Forgets a key.
    func remove(_ key: AddedKey) { unexpired { keys in keys.removeAll { $0.publicKey == key.publicKey } } }

    /// Forgets all keys.
    package func removeAll() { keys.withLock { $0 = [] } }

    private func unexpired<Result: Sendable>(_ body: (inout [AddedKey]) -> Result) -> Result {
        let now = clock()
        return keys.withLock { keys in
            keys.removeAll { key in key.deadline.map { $0 <= now } ?? false }
            return body(&keys)
        }
    }

    /// An expired key is used by nobody. Here it leaves the memory, too, without waiting for the next request.
    private func wipe(after seconds: UInt32) {
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Int(seconds)) + .milliseconds(50)) {
            [weak self] in
            _ = self?.all.count
        }
    }
}

/// Locks the agent with a passphrase, as `ssh-add -x` does. While it is locked it has no keys.
package final class AgentLock: Sendable {
    private struct State {
        var lock: SealedPassphrase?
        var failures = 0
    }

    private let state = Mutex(State())
    /// Cancelled by a lock. Unlocking puts a new one in its place.
    private let opening = Mutex(Cancellation())
    private let wait: @Sendable (Duration) -> Void

    /// - Parameter wait: lets the time after a wrong passphrase pass; it blocks.
    package init(waiting wait: @escaping @Sendable (Duration) -> Void = AgentLock.sleep) { self.wait = wait }

    package static let sleep: @Sendable (Duration) -> Void = { duration in
        usleep(UInt32(clamping: Int(duration / .microseconds(1))))
    }

    package var isLocked: Bool { untilLocked.isCancelled }

    /// Cancelled by the next lock, and stays so after the agent is unlocked again.
    var untilLocked: Cancellation { opening.withLock { $0 } }

    /// Locks with a passphrase, and ends the questions that stand.
    ///
    /// - Returns: false when it is locked already, and for an empty passphrase.
    func lock(_ passphrase: borrowing SecretBytes) -> Bool {
        guard !passphrase.isEmpty else { return false }
        let sealed = SealedPassphrase(passphrase)
        let ended: Cancellation? = state.withLock { state in
            guard state.lock == nil else { return nil }
            state.lock = sealed
            return untilLocked
        }
        ended?.cancel()
        return ended != nil
    }

    /// Unlocks. After a wrong passphrase it waits, longer each time; tries on all other connections wait meanwhile.
    func unlock(_ passphrase: borrowing SecretBytes) -> Bool {
        state.withLock { state in
            guard let sealed = state.lock else { return false }
            guard sealed.opens(with: passphrase) else {
                state.failures += 1
                wait(min(.milliseconds(100) * state.failures, AgentLimits.longestDelay))
                return false
            }
            (state.lock, state.failures) = (nil, 0)
            opening.withLock { $0 = Cancellation() }
            return true
        }
    }
}

/// What tells the right passphrase from others: a value that was derived from it.
private final class SealedPassphrase: Sendable {
    private let salt = Data(exposing: SecretBytes(random: 16))
    private let digest: SecretBytes

    init(_ passphrase: borrowing SecretBytes) { digest = Self.digest(of: passphrase, salt) }

    func opens(with passphrase: borrowing SecretBytes) -> Bool {
        Self.digest(of: passphrase, salt).isEqual(to: digest)
    }

    private static func digest(of passphrase: borrowing SecretBytes, _ salt: Data) -> SecretBytes {
        SecretBytes(passphrase.derivedKey(label: "ostiary-ssh-agent lock", salt: salt))
    }
}
