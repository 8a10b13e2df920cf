import Foundation

/// The changes of several threads that become durable together: one transaction, one disk flush.
final class CommitGroup: @unchecked Sendable {
    // SAFETY: (@unchecked) `labels` and `memberCount` are used only inside the closures of the database queue, `outcome`
    // only under `condition`.
    /// The purpose of each change of the transaction.
    private(set) var labels: [String] = []
    /// The threads that wait for the transaction, including those whose own change was undone.
    private var memberCount = 0
    private var outcome: Outcome?
    private let condition = NSCondition()

    private enum Outcome {
        case committed
        case failed(any Error, isShared: Bool)
    }

    func addMember() { memberCount += 1 }

    /// Whether others should wait for the next transaction: threads that read wait while changes gather.
    var isFull: Bool { memberCount >= Self.memberLimit }

    private static let memberLimit = 64

    func add(_ label: String) { labels.append(label) }

    /// Ends the transaction: it is on disk.
    func succeed() { end(.committed) }

    /// Ends the transaction: it left no trace.
    func fail(_ error: any Error) { end(.failed(error, isShared: memberCount > 1)) }

    private func end(_ outcome: Outcome) {
        condition.lock()
        self.outcome = outcome
        condition.broadcast()
        condition.unlock()
    }

    /// Waits until the transaction has ended.
    ///
    /// - Throws: the reason why it failed; ``SharedFailure`` if other threads' changes may be the reason.
    func wait() throws {
        condition.lock()
        defer { condition.unlock() }
        while true {
            switch outcome {
            case nil: condition.wait()
            case .committed?: return
            case .failed(let error, let isShared)?: throw isShared ? SharedFailure(error: error) : error
            }
        }
    }
}

/// A transaction of several threads failed.
struct SharedFailure: Error {
    let error: any Error
}
