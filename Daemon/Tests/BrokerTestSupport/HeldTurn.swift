import Dispatch
import Foundation
import OwnerKeys
import Testing

/// Holds the turn among the readers of much until ``end()``.
final class HeldTurn: Sendable {
    private let gate = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    init() {
        let begun = DispatchSemaphore(value: 0)
        Thread.detachNewThread { [gate, ended] in
            do {
                try StretchTurns.ofReading.withTurn(as: .daemon) {
                    begun.signal()
                    gate.wait()
                }
            } catch { Issue.record("\(error)") }
            ended.signal()
        }
        begun.wait()
    }

    func end() {
        gate.signal()
        ended.wait()
    }
}
