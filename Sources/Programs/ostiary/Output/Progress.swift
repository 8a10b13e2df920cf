import DetachedThreads
import Dispatch
import OstiaryClient
import OstiaryMessages

/// How far a long piece of work is, on one line of standard error; silent where that is no terminal, and for the first half
/// second.
struct ProgressLine: ~Copyable {
    private static let patience = Duration.milliseconds(500)
    private static let interval = Duration.milliseconds(200)

    enum Unit {
        case bytes
        /// Rights, keys and items.
        case entries
    }

    private let label: String
    private let unit: Unit
    private let total: Int?
    private let isEnabled: Bool
    private var next = ContinuousClock.now + patience
    private var isShown = false

    /// - Parameter total: how much there is, when known.
    init(_ label: String, total: Int?, unit: Unit = .bytes, isEnabled: Bool = StandardError.isTerminal) {
        self.label = label
        self.unit = unit
        self.total = total
        self.isEnabled = isEnabled
    }

    deinit {
        // Carriage return, then erase to the end of the line.
        if isShown { StandardError.write("\r\u{1b}[K") }
    }

    mutating func update(_ count: Int) {
        guard isEnabled, ContinuousClock.now >= next else { return }
        next = ContinuousClock.now + Self.interval
        isShown = true
        StandardError.write("\r\(Self.text(label, count, total, unit))\u{1b}[K")
    }

    static func text(_ label: String, _ count: Int, _ total: Int?, _ unit: Unit = .bytes) -> String {
        func shown(_ count: Int) -> String { unit == .bytes ? "\(count >> 20) MiB" : "\(count)" }
        let done = "\(label.visibleLine) \(shown(count))"
        guard let total, total >= count, total > 0 else { return done }
        return done + " of \(shown(total))"
    }
}

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
