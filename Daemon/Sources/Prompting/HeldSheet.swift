import PromptProtocol
import Synchronization

/// A sheet that stays on the screen while the daemon checks what was typed into it. After a wrong answer, the same question can
/// be put again in the same window.
///
/// The window goes as soon as nobody holds this object, and when another question comes on the display.
public final class HeldSheet: Sendable {
    private let request: PromptRequest
    private let process: Mutex<PromptProcess?>

    init(_ process: consuming PromptProcess, of request: PromptRequest) {
        self.request = request
        self.process = Mutex(process)
    }

    /// Whether the person has cancelled since.
    public var isCancelled: Bool {
        process.withLock { process in
            guard var held = process.take() else { return false }
            let isCancelled = held.hasSaid(.cancelled)
            process = consume held
            return isCancelled
        }
    }

    /// The sheet's process, if `request` puts the same question again, for the same program and in the same way; else nil.
    /// Afterwards this object has none.
    func take(for request: PromptRequest) -> PromptProcess? {
        guard request.isRepetition(of: self.request) else { return nil }
        return process.withLock { $0.take() }
    }

    /// Removes the window, because something else is shown next.
    func close() {
        if let process = process.withLock({ $0.take() }) { process.removeWindow() }
    }

    deinit {
        if let process = process.withLock({ $0.take() }) { process.kill() }
    }
}

extension PromptRequest {
    /// Whether this puts the other's question once more, and says the same of everything else.
    func isRepetition(of other: PromptRequest) -> Bool {
        question.isRepetition(of: other.question) && putting(other.question) == other
    }
}

/// The one sheet that may be held: a display shows one question at a time.
final class HeldSheetPlace: Sendable {
    private struct Entry { weak var sheet: HeldSheet? }

    private let entry = Mutex(Entry())

    func put(_ sheet: HeldSheet) {
        let former = entry.withLock { entry in
            defer { entry.sheet = sheet }
            return entry.sheet
        }
        former?.close()
    }

    /// Removes the held window: another question needs the display.
    func clear() { entry.withLock { $0.sheet }?.close() }
}
