import Cancellations
import DetachedThreads
import SecretItems
import Synchronization

/// The questions of one client, one after the other, on a thread of its own as long as there are some. So a question holds up neither
/// the client's other calls nor other clients.
///
/// An answer to one question may answer the next one, too: what was proved counts for all of the client's calls. Where the person
/// declined, the questions about the same items that came in the meantime are declined with it: a client that gave up waiting asks again,
/// and the person has answered.
final class AskingLane: Sendable {
    struct Question: Sendable {
        /// The connection that waits for the answer.
        let peer: String
        /// Empty for a question that no other one is like.
        let items: Set<SecretID>
        /// Asks, and answers the call; returns the refusal if there was one.
        let ask: @Sendable (Cancellation) -> StoreRefusal?
        /// Answers the call without having asked.
        let refuse: @Sendable (StoreRefusal) -> Void
    }

    private struct Entry: Sendable {
        let number: UInt64
        let question: Question
        let cancellation = Cancellation()
    }

    private struct State {
        var waiting: [Entry] = []
        var current: Entry?
        var lastNumber: UInt64 = 0
        var isRunning = false
        var isOver = false
    }

    private static let stackByteCount = 512 * 1024

    private let state = Mutex(State())

    /// Adds a question; returns its number.
    ///
    /// - Throws: `tooMuch`, and `noClient` after the client's end.
    @discardableResult
    func add(_ question: Question) throws(StoreRefusal) -> UInt64 {
        let (number, begins) = try state.withLock { (state) throws(StoreRefusal) -> (UInt64, Bool) in
            guard !state.isOver else { throw .noClient("The program has left the bus.") }
            guard state.waiting.count < ServiceLimits.questionCount else {
                throw .tooMuch("\(ServiceLimits.questionCount) questions of this program wait already.")
            }
            state.lastNumber += 1
            state.waiting.append(Entry(number: state.lastNumber, question: question))
            defer { state.isRunning = true }
            return (state.lastNumber, !state.isRunning)
        }
        guard begins, !DetachedThread.start(stackByteCount: Self.stackByteCount, { [self] in run() }) else {
            return number
        }
        let unasked = state.withLock { state in
            state.isRunning = false
            defer { state.waiting = [] }
            return state.waiting
        }
        for entry in unasked {
            entry.question.refuse(.failed("The system gives no thread to ask with. Try again later."))
        }
        return number
    }

    /// Takes one question away.
    func cancel(_ number: UInt64) { cancel { $0.number == number } }

    /// Takes the questions of a connection away that has ended.
    func cancel(of peer: String) { cancel { $0.question.peer == peer } }

    /// The client has ended.
    func end() {
        state.withLock { $0.isOver = true }
        cancel { _ in true }
    }

    private func cancel(_ isMeant: (Entry) -> Bool) {
        let (dropped, current) = state.withLock { state -> ([Entry], Entry?) in
            let dropped = state.waiting.filter(isMeant)
            state.waiting.removeAll(where: isMeant)
            return (dropped, state.current.flatMap { isMeant($0) ? $0 : nil })
        }
        for entry in dropped { entry.question.refuse(.cancelled) }
        current?.cancellation.cancel()
    }

    // MARK: the thread

    private func run() {
        while let entry = next() {
            guard let refusal = entry.question.ask(entry.cancellation), case .declined = refusal else { continue }
            for other in takeOthers(like: entry) { other.question.refuse(refusal) }
        }
    }

    private func next() -> Entry? {
        state.withLock { state in
            state.current = state.waiting.isEmpty ? nil : state.waiting.removeFirst()
            state.isRunning = state.current != nil
            return state.current
        }
    }

    private func takeOthers(like entry: Entry) -> [Entry] {
        guard !entry.question.items.isEmpty else { return [] }
        return state.withLock { state in
            let others = state.waiting.filter { $0.question.items == entry.question.items }
            state.waiting.removeAll { $0.question.items == entry.question.items }
            return others
        }
    }
}
