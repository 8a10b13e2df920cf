import OstiaryMessages
import Refusals
import Synchronization

/// Bounds the bytes of items that the updates of one owner hold in memory together. An update holds its items while the person is
/// asked, and a program may have many updates at once.
package final class UpdateBytes: Sendable {
    /// What each update may hold beside, so that a large one that waits refuses no small one. There are no more updates at once than slow
    /// requests and long readings.
    static let uncountedByteCount = 1 << 20

    private let counted = Mutex(0)

    package init() {}

    /// The bytes of one update, given back with the last reference.
    package final class Share: Sendable {
        private let whole: UpdateBytes
        private let state = Mutex((held: 0, counted: 0))

        fileprivate init(_ whole: UpdateBytes) { self.whole = whole }

        /// Counts more bytes in; refuses what the owner's updates may not hold together.
        func add(_ byteCount: Int) throws(Refusal) {
            try state.withLock { (state) throws(Refusal) in
                let held = state.held + byteCount
                let counted = max(held - UpdateBytes.uncountedByteCount, 0)
                try whole.take(counted - state.counted)
                state = (held, counted)
            }
        }

        deinit { whole.giveBack(state.withLock { $0.counted }) }
    }

    /// For an update that begins.
    package func begin() -> Share { Share(self) }

    private func take(_ byteCount: Int) throws(Refusal) {
        try counted.withLock { (counted) throws(Refusal) in
            guard counted + byteCount <= ItemRequestLimits.updateByteCount else { throw Self.tooMany }
            counted += byteCount
        }
    }

    private func giveBack(_ byteCount: Int) { counted.withLock { $0 -= byteCount } }

    private static let tooMany = Refusal(
        .tooMany,
        "Updates of your items that wait hold \(ItemRequestLimits.updateByteCount >> 20) MiB together, and no more are allowed; answer "
            + "their questions first.", cause: "item.updates-too-large")
}
