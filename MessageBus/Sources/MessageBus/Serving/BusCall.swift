import Synchronization

/// A call of a served method that waits for its answer. Any thread may answer it, now or later, once.
///
/// Later answers are dropped, and so are those for a caller that left the bus. A call that nobody holds any more is answered with
/// `NoReply`.
public final class BusCall: Sendable {
    public let caller: BusCaller
    /// The object that was called.
    public let path: String
    let number: UInt64
    private let queue: ServerQueue
    private let isAnswered = Atomic(false)

    init(_ number: UInt64, from caller: BusCaller, to path: String, _ queue: ServerQueue) {
        self.number = number
        self.caller = caller
        self.path = path
        self.queue = queue
    }

    deinit { refuse(.noReply) }

    /// Answers with the values that `write` writes, on the connection's own thread. They must be of the method's types, else the
    /// caller gets `Failed`.
    public func answer(_ write: @escaping BusWriter.Writing = { _ in }) {
        guard isFirst() else { return }
        queue.add { [number] connection in connection.answer(number, write) }
    }

    /// Answers with an error.
    public func refuse(_ fault: BusFault) {
        guard isFirst() else { return }
        queue.add { [number] connection in connection.refuse(number, fault) }
    }

    private func isFirst() -> Bool { !isAnswered.exchange(true, ordering: .sequentiallyConsistent) }
}
