import Synchronization

/// The proof of a verification, kept for a token that was not used yet. Any thread can let go of it when its time is over: a
/// command may run then, and wait for a person for longer than the proof counts.
package final class HeldProof: Sendable {
    private let state: Mutex<(any UserProof)?>
    /// When the user has to be asked again.
    let end: Duration

    init(_ proof: any UserProof, until end: Duration) {
        state = Mutex(proof)
        self.end = end
    }

    /// Nil once it was let go.
    var proof: (any UserProof)? { state.withLock { $0 } }

    func drop() { state.withLock { $0 = nil } }

    /// Lets go of it when its time is over. Returns whether it was let go, now or before.
    package func dropIfExpired(at now: Duration) -> Bool {
        state.withLock { proof in
            if now >= end { proof = nil }
            return proof == nil
        }
    }
}
