import AccessControl
import Cancellations
import Dispatch
import OstiaryMessages
import Prompting
import PromptProtocol
import Refusals
import Synchronization
import Threading

/// The sensors that wait beside one question, each on a thread of its own, from the moment when the question is visible until
/// it ends. The first one that recognises the person ends it; what comes later does not count.
final class SensorRace: Sendable {
    /// One sensor that takes part.
    struct Runner: Sendable {
        let factor: Factor
        let attempt: any SensingAttempt

        /// What the log calls the factor.
        var factorName: String { factor.loggedName(noticedBy: attempt.sensor.kind) }

        fileprivate var provedAnother: Refusal {
            Refusal(.internal, "A sensor proved another factor than \(factor.name).")
        }
    }

    /// A sensor that was the first to recognise the person.
    struct Winner: Sendable {
        /// Nil when the sensor needs an answer first.
        let proof: Proof?
        let runner: Runner
        /// Its device is disarmed. The thread may still give it back, and nobody waits for that but the device's next user.
        fileprivate let wait: SensorWait

        /// The proof, which counts from now on.
        ///
        /// - Parameters:
        ///   - question: the one that has just ended.
        ///   - onMiss: called for each failed try.
        func taken(
            _ questioning: Questioning, after question: PromptQuestion, onMiss: @escaping @Sendable () -> Void
        ) throws -> Proof {
            let proof = try proof ?? runner.attempt.proof(questioning, after: question, onMiss: onMiss)
            guard proof.factor == runner.factor else { throw runner.provedAnother }
            try runner.attempt.proofWasTaken()
            return proof
        }
    }

    private struct State {
        var isRunning = false
        var isOver = false
        var winner: Winner?
        /// Indices of the runners that the question shows.
        var armed: [Int] = []
        /// By the runner's index.
        var failures: [Int: any Error] = [:]
    }

    private let runners: [Runner]
    private let waits: [SensorWait]
    /// Whether the question waits for nothing else.
    private let isAlone: Bool
    private let placeCheck: @Sendable () -> () throws -> Void
    private let onMiss: @Sendable (Runner) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - placeCheck: called for each sensor before it is armed. The check that it returns is made when the sensor has recognised
    ///     the person, and throws when no sensor may wait for the program any more.
    ///   - onMiss: called for each failed try, on the sensor's thread.
    init(
        _ runners: [Runner], isAlone: Bool, placeCheck: @escaping @Sendable () -> () throws -> Void,
        onMiss: @escaping @Sendable (Runner) -> Void
    ) {
        self.runners = runners
        self.isAlone = isAlone
        self.placeCheck = placeCheck
        self.onMiss = onMiss
        waits = runners.map { SensorWait($0.factor) }
    }

    /// Arms the sensors that the question shows: it is visible.
    func start(beside question: LiveQuestion) {
        let shown = runners.indices.filter(question.shows(sensor:))
        let isFirst = state.withLock { state in
            guard !state.isRunning, !state.isOver else { return false }
            (state.isRunning, state.armed) = (true, shown)
            return true
        }
        guard isFirst else { return }
        for index in shown {
            let runner = runners[index]
            let wait = waits[index]
            wait.begin()
            do throws(ThreadShortage) {
                try Threads.start("ostiary-sensor") { [self] in
                    defer { wait.end() }
                    run(runner, at: index, wait, question)
                }
            } catch {
                wait.end()
                fail(Refusal.threadShortage, at: index, question)
            }
        }
    }

    private func run(_ runner: Runner, at index: Int, _ wait: SensorWait, _ question: LiveQuestion) {
        // The session may be locked, or left, after the question appeared.
        let requirePlace = placeCheck()
        let report = { @Sendable [self] (report: SensorReport) in note(report, at: index, question) }
        do {
            do {
                try runner.attempt.prove(until: wait.stop, reporting: report) { proof in
                    guard proof.factor == runner.factor else { throw runner.provedAnother }
                    try requirePlace()
                    win(Winner(proof: proof, runner: runner, wait: wait), question)
                }
            } catch is SensorNeedsAnswer {
                try requirePlace()
                win(Winner(proof: nil, runner: runner, wait: wait), question)
            }
        } catch { fail(error, at: index, question) }
    }

    private func win(_ winner: Winner, _ question: LiveQuestion) {
        let isFirst = state.withLock { state in
            guard !state.isOver, state.winner == nil else { return false }
            state.winner = winner
            return true
        }
        if isFirst { question.cancellation.cancel(because: .proved) }
    }

    private func fail(_ error: any Error, at index: Int, _ question: LiveQuestion) {
        let isLast: Bool? = state.withLock { state in
            guard !state.isOver else { return nil }
            state.failures[index] = error
            return state.failures.count == state.armed.count
        }
        guard let isLast else { return }
        if isAlone && isLast {
            question.cancellation.cancel(because: .superseded)
        } else {
            let why = (error as? Refusal)?.explanation ?? "It does not work now."
            question.update(PromptUpdate(sensor: index, text: DisplayText(why)))
        }
    }

    private func note(_ report: SensorReport, at index: Int, _ question: LiveQuestion) {
        guard !state.withLock({ $0.isOver }) else { return }
        if report.isMiss { onMiss(runners[index]) }
        question.update(PromptUpdate(sensor: index, text: report.text))
    }

    /// What the race came to.
    struct Result {
        let winner: Winner?
        /// Factors of which every sensor that was armed gave up.
        let failures: [Factor: any Error]
        /// The sensors that gave up.
        let ended: Set<ObjectIdentifier>
        /// Sensors that were told to stop and have not, in time.
        let overdue: [SensorWait]
    }

    /// Ends the race: the question has ended. Tells each sensor to stop and waits for it, at most for `patience`. The winner is
    /// disarmed already.
    func finish(patience: Duration) -> Result {
        let end = state.withLock { state in
            state.isOver = true
            return state
        }
        for wait in waits { wait.stop.cancel() }
        let deadline = DispatchTime.now() + patience / .seconds(1)
        return Result(
            winner: end.winner, failures: failures(in: end),
            ended: Set(end.failures.keys.map { ObjectIdentifier(runners[$0].attempt) }),
            overdue: waits.filter { $0 !== end.winner?.wait && !$0.hasEnded(by: deadline) })
    }

    private func failures(in state: State) -> [Factor: any Error] {
        let armed = Dictionary(grouping: state.armed) { runners[$0].factor }
        return armed.compactMapValues { indices in
            let errors = indices.compactMap { state.failures[$0] }
            guard errors.count == indices.count else { return nil }
            // That somebody was not recognised says more than that another device does not work.
            return errors.first { ($0 as? Refusal)?.code == .authenticationFailed } ?? errors.first
        }
    }
}

/// One sensor's thread.
final class SensorWait: Sendable {
    let factor: Factor
    let stop = Cancellation()
    private let thread = DispatchGroup()

    init(_ factor: Factor) { self.factor = factor }

    func begin() { thread.enter() }
    func end() { thread.leave() }

    /// Whether the thread has ended, or never began; waits for it until `deadline`.
    func hasEnded(by deadline: DispatchTime) -> Bool { thread.wait(timeout: deadline) == .success }
}

/// Sensors that do not stop. None of them is armed again before it did, so that one that hangs costs one thread.
final class OverdueSensors: Sendable {
    private let waits = Mutex<[SensorWait]>([])

    func add(_ overdue: [SensorWait]) {
        guard !overdue.isEmpty else { return }
        waits.withLock { $0 += overdue }
    }

    /// Whether a sensor of this authenticator is among them.
    func contains(_ authenticator: any Authenticator) -> Bool {
        waits.withLock { waits in
            waits.removeAll { $0.hasEnded(by: .now()) }
            return waits.contains { authenticator.factors.contains(FactorSet($0.factor)) }
        }
    }
}
