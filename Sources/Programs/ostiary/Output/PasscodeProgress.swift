import DetachedThreads
import Dispatch
import OstiaryClient
import OstiaryMessages

/// Shows how far a change of the passcode is, which takes seconds where very much is stored. The daemon is asked for its status
/// meanwhile; before and after the change there is nothing to show.
enum PasscodeProgress {
    private static let interval = 0.3

    static func showing<Result>(isEnabled: Bool, _ change: () throws -> Result) rethrows -> Result {
        guard isEnabled else { return try change() }
        let (isOver, hasEnded) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let isShown = DetachedThread.start {
            show(until: isOver)
            hasEnded.signal()
        }
        // Without a thread from the system nothing is shown.
        guard isShown else { return try change() }
        defer {
            isOver.signal()
            hasEnded.wait()
        }
        return try change()
    }

    private static func show(until isOver: DispatchSemaphore) {
        var line: ProgressLine?
        while isOver.wait(timeout: .now() + interval) == .timedOut {
            // A daemon that does not answer is the change's error, and is told there.
            guard let changing = try? OstiaryClient.shared.status().passcode.changing else { continue }
            if line == nil { line = ProgressLine("New keys:", total: Int(changing.total), unit: .entries) }
            line?.update(Int(changing.done))
        }
    }
}
