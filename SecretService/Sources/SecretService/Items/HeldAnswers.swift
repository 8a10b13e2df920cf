import MessageBus
import SecretItems
import Synchronization

/// The secrets of calls that read several and are not answered yet: they lie in locked memory while other programs have their turns, and
/// while the person is asked for the rest.
final class HeldAnswers: Sendable {
    private let held = Mutex(Holdings(ServiceLimits.answerBytes))

    /// Those of one call.
    func begin(for holder: Holder) -> HeldAnswer { HeldAnswer(holder, self) }

    fileprivate func take(_ byteCount: Int, for holder: Holder) throws(ReachedLimit) {
        try held.withLock { (held) throws(ReachedLimit) in try held.take(byteCount, for: holder) }
    }

    fileprivate func giveBack(_ byteCount: Int, of holder: Holder) {
        held.withLock { $0.giveBack(byteCount, of: holder) }
    }
}

/// What the secrets of one call's answer take. It counts as long as this value is there.
final class HeldAnswer: Sendable {
    private let holder: Holder
    private let answers: HeldAnswers
    private let byteCount = Mutex(0)

    fileprivate init(_ holder: Holder, _ answers: HeldAnswers) { (self.holder, self.answers) = (holder, answers) }

    deinit {
        let count = byteCount.withLock { $0 }
        if count > 0 { answers.giveBack(count, of: holder) }
    }

    /// - Throws: `tooMuch`.
    func add(_ count: Int) throws(StoreRefusal) {
        guard count > 0 else { return }
        do throws(ReachedLimit) { try answers.take(count, for: holder) } catch {
            throw .tooMuch(error.words("bytes of secrets on their way, or would have them,") + " Read fewer at a time.")
        }
        byteCount.withLock { $0 += count }
    }
}
