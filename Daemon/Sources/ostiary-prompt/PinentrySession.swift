import Glibc
import PromptProgram
import PromptProtocol
import UnixSocket

/// One conversation with a pinentry: a command, then lines until OK or ERR.
struct PinentrySession: ~Copyable {
    private let dialog: PinentryProcess
    private var lines = AssuanLines()

    init(_ dialog: consuming PinentryProcess) { self.dialog = dialog }

    /// How a command ended.
    enum Result: Equatable {
        case ok
        case error(code: UInt16)
        /// It did not: the prompt is over.
        case failed(PromptReply)
    }

    /// Waits for the line that a server begins with; nil when it came.
    mutating func greet(_ watch: borrowing PromptWatch) -> PromptReply? {
        var none = SecretLine(capacity: 0)
        switch finish(watch, &none) {
        case .ok: return nil
        case .error: return .dialogFailed
        case .failed(let reply): return reply
        }
    }

    /// Runs a command that brings no data.
    mutating func run(_ command: [UInt8], _ watch: borrowing PromptWatch) -> Result {
        var none = SecretLine(capacity: 0)
        return run(command, watch, data: &none)
    }

    /// Runs a command and decodes its data directly into `data`. It is a failure if the data does not fit.
    mutating func run(_ command: [UInt8], _ watch: borrowing PromptWatch, data: inout SecretLine) -> Result {
        guard dialog.send(command) else { return .failed(.dialogFailed) }
        return finish(watch, &data)
    }

    /// Ends the dialog.
    consuming func end() { dialog.end() }

    private mutating func finish(_ watch: borrowing PromptWatch, _ data: inout SecretLine) -> Result {
        while true {
            while let step = nextStep(&data) {
                if let result = step { return result }
            }
            let output = dialog.output.number
            switch watch.wait(for: output) {
            case .readable: break
            // No sensor waits beside a dialog that does not tell when it is visible.
            case .updated, .again: continue
            case .timedOut: return .failed(.timedOut)
            case .ended: return .failed(.ended)
            case .closed, .quiet: return .failed(.dialogFailed)
            }
            guard unsafe lines.fill({ unsafe read(output, $0.baseAddress!, $0.count) }) else {
                return .failed(.dialogFailed)
            }
        }
    }

    /// Handles one line: nil when there is none, `.some(nil)` when the command goes on after it.
    private mutating func nextStep(_ data: inout SecretLine) -> Result?? {
        unsafe lines.takeLine { line in
            switch unsafe Assuan.parse(line) {
            case .ok: .ok
            case .error(let code): .error(code: code)
            case .data(let offset): unsafe Assuan.decode(line[offset...], into: &data) ? nil : .failed(.dialogFailed)
            case .other: nil
            case nil: .failed(.dialogFailed)
            }
        }
    }
}
