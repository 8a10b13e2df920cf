import Foundation
import LocalAuthentication

/// What needs more than one step of a person: changes that another process makes, and questions that wait for each other.
enum EnvironmentScenarios {
    private final class Watcher: NSObject, LAEnvironment.Observer {
        func environment(_ environment: LAEnvironment, stateDidChangeFromOldState oldState: LAEnvironment.State) {
            say("changed: \(describe(oldState)), now \(describe(environment.state))")
        }
    }

    /// At once: the test reads each line while the program runs.
    private static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

    private static func describe(_ state: LAEnvironment.State) -> String {
        let passcode = state.userPassword.map { $0.isSet ? $0.isUsable ? "set" : "locked" : "not set" } ?? "unknown"
        return "passcode \(passcode)"
    }

    /// Tells of changes until its input ends.
    static func watch() {
        let watcher = Watcher()
        LAEnvironment.currentUser.addObserver(watcher)
        say("at first: \(describe(LAEnvironment.currentUser.state))")
        while readLine() != nil { say("asked: \(describe(LAEnvironment.currentUser.state))") }
        LAEnvironment.currentUser.removeObserver(watcher)
    }

    /// The digests of what is enrolled.
    static func domainState() {
        let state = LAContext().domainState
        let text = { (digest: Data?) in digest?.map { String(format: "%02x", $0) }.joined() ?? "none" }
        RightScenarios.report("companions", text(state.companion.stateHash))
        RightScenarios.report("watches", text(state.companion.stateHash(for: .watch)))
        RightScenarios.report("everything", text(state.stateHash))
    }

    /// Two evaluations at once: their questions come one after the other.
    static func queue() async {
        async let first = outcome()
        async let second = outcome()
        RightScenarios.report("both", await [first, second].joined(separator: ", "))
    }

    /// A context that is invalidated while its question is on the terminal.
    static func invalidation() async {
        // SAFETY: a context may be invalidated on any thread.
        nonisolated(unsafe) let context = LAContext()
        Task {
            try await Task.sleep(for: .seconds(2))
            context.invalidate()
        }
        await RightScenarios.report("invalidated") {
            _ = try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: RightScenarios.reason)
        }
    }

    private static func outcome() async -> String {
        do {
            let isProved = try await LAContext().evaluatePolicy(
                .deviceOwnerAuthentication, localizedReason: RightScenarios.reason)
            return "\(isProved)"
        } catch { return "\(error)" }
    }
}
