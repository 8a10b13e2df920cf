import ExactNames
import Foundation
import Glibc
import ProcessFacts
import Prompting
import PromptProtocol
import SecretMemory
import Synchronization
import TerminalTestSupport
import Testing
import UnixSocket

extension CallerProcess {
    /// This process as prompts are told of it.
    func caller(
        _ terminal: SharedDescriptor?, userID: UInt32 = getuid(), owner: OwnerID? = nil,
        program: ExactName = "/usr/bin/asker", application: String? = nil
    ) throws -> PromptCaller {
        PromptCaller(
            processID: processID, process: try? KernelFacts().hold(processID), userID: userID, owner: owner,
            program: program,
            application: application, terminal: terminal)
    }
}

/// What a question came to, in a form that can be compared.
enum Ending: Equatable {
    case entered(String, PromptFactor)
    case confirmed, cancelled, fallback, timedOut
    case interrupted(PromptInterruption)
    case unavailable(PromptUnavailability)
    case stillAsking
    /// A secret was entered and not handed over for the factor that it says it is of.
    case withheld(PromptFactor)

    init(_ outcome: consuming PromptOutcome) {
        switch consume outcome {
        case .entered(let secret):
            let factor = secret.factor
            switch secret.take(for: factor) {
            case .some(let bytes):
                self = .entered(bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }, factor)
            case .none: self = .withheld(factor)
            }
        case .confirmed: self = .confirmed
        case .cancelled: self = .cancelled
        case .fallback: self = .fallback
        case .timedOut: self = .timedOut
        case .interrupted(let interruption): self = .interrupted(interruption)
        case .unavailable(let reason): self = .unavailable(reason)
        }
    }
}

/// A question that is being put in a thread of its own.
final class Asking: Sendable {
    let cancellation: PromptCancellation
    let live: LiveQuestion
    private let shown: ShownCount
    private let ending = Mutex<Ending>(.stillAsking)
    private let held = Mutex<HeldSheet?>(nil)
    private let done = DispatchSemaphore(value: 0)
    private let letGo = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - sheet: the sheet in which the last answer was wrong.
    ///   - isHeld: whether the sheet of the answer is kept in ``sheet``.
    init(
        _ prompter: any Prompter, _ question: PromptQuestion, on caller: PromptCaller, again sheet: HeldSheet? = nil,
        holdingSheet isHeld: Bool = false
    ) throws {
        cancellation = try PromptCancellation()
        let shown = ShownCount()
        live = LiveQuestion(endedBy: cancellation, on: sheet) { _ in shown.increment() }
        self.shown = shown
        Thread.detachNewThread { [self] in
            let ending: Ending
            switch prompter.ask(question, on: caller, live: live) {
            case .entered(let secret):
                let sheet = secret.sheet
                held.withLock { $0 = isHeld ? sheet : nil }
                ending = Ending(.entered(secret))
            case let outcome: ending = Ending(outcome)
            }
            self.ending.withLock { $0 = ending }
            done.signal()
            // A sheet dies with the thread that started it, as it does in the daemon, where one thread asks and checks.
            if self.sheet != nil { letGo.wait() }
        }
    }

    /// The sheet of the answer, if it is kept.
    var sheet: HeldSheet? { held.withLock { $0 } }
    /// Lets the sheet go.
    func dropSheet() {
        passOnSheet()
        letGo.signal()
    }

    /// Leaves the sheet to the question that it asks next. The thread that started it stays.
    func passOnSheet() { held.withLock { $0 = nil } }

    /// Whether the prompter said that the question is visible.
    var isShown: Bool { shown.value > 0 }
    /// How often it said so.
    var shownCount: Int { shown.value }

    /// What it came to, within ten seconds.
    func wait(seconds: Double = 10) -> Ending {
        if done.wait(timeout: .now() + seconds) == .success { done.signal() }
        return ending.withLock { $0 }
    }
}

/// Counts from any thread.
final class ShownCount: Sendable {
    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }
    func increment() { count.withLock { $0 += 1 } }
}

extension PromptQuestion {
    static let passcode = PromptQuestion(
        .enterPasscode, objects: PromptObjects(DisplayText("GitHub token")), operation: DisplayText("read"),
        reason: DisplayText("to push"))
}
