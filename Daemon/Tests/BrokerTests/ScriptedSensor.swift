import AccessControl
import Dispatch
import Foundation
import Prompting
import Synchronization

@testable import Authenticators
@testable import Broker

/// A device that does what a test says each time it is armed.
final class ScriptedSensor: Authenticator {
    /// What it does when it is armed: waits until it is told to stop, unless the test says otherwise.
    typealias Script = @Sendable (SensorStop, @Sendable (SensorReport) -> Void) throws -> Proof?

    let factors: FactorSet
    private let label: Strength
    private let kind: PromptSensor.Kind
    private let state = Mutex(State())

    private struct State {
        var scripts: [Script] = []
        var unavailability: Unavailability?
        var armedCount = 0
        var endedCount = 0
    }

    init(
        _ factors: FactorSet = [.biometry, .biometryCurrentSet], _ kind: PromptSensor.Kind = .finger,
        label: Strength = .brokerBound
    ) {
        self.factors = factors
        self.kind = kind
        self.label = label
    }

    /// What it does the next times; afterwards it waits.
    func prepare(_ scripts: [Script]) {
        state.withLock { ($0.scripts, $0.armedCount, $0.endedCount) = (scripts, 0, 0) }
    }

    func makeUnavailable(_ reason: Unavailability?) { state.withLock { $0.unavailability = reason } }

    var armedCount: Int { state.withLock { $0.armedCount } }
    /// Whether it waits for somebody now.
    var isArmed: Bool { state.withLock { $0.armedCount > $0.endedCount } }

    /// Waits until it was armed so often; false when that does not come.
    func waitUntilArmed(_ count: Int = 1) -> Bool {
        let end = ContinuousClock.now.advanced(by: .seconds(10))
        while armedCount < count, ContinuousClock.now < end { usleep(500) }
        return armedCount >= count
    }

    // MARK: scripts

    static let waits: Script = { stop, _ in
        stop.wait()
        return nil
    }

    /// Recognises the person at once.
    static func proves(_ factor: Factor = .biometry, _ strength: Strength = .brokerBound) -> Script {
        { _, _ in Proof(factor: factor, strength: strength) }
    }

    /// Recognises the person when the gate is opened, and does not look whether it is to stop.
    static func proves(when gate: DispatchSemaphore) -> Script {
        { _, _ in
            _ = gate.wait(timeout: .now() + 20)
            return Proof(factor: .biometry, strength: .brokerBound)
        }
    }

    // MARK: Authenticator

    func availability(of factor: Factor, for demand: Demand?) -> FactorAvailability.State {
        state.withLock { $0.unavailability }.map { .unavailable($0) } ?? .available
    }

    func strength(of factor: Factor) -> Strength { label }

    func begin(_ factor: Factor, for demand: Demand, _ asking: Asking, after proofs: [Proof]) -> FactorAttempt {
        .sensing(Attempt(sensor: PromptSensor(kind, DisplayText("Touch the sensor.")), of: self))
    }

    private final class Attempt: SensingAttempt {
        let sensor: PromptSensor
        private let device: ScriptedSensor

        init(sensor: PromptSensor, of device: ScriptedSensor) {
            self.sensor = sensor
            self.device = device
        }

        func prove(
            until stop: SensorStop, reporting report: @escaping @Sendable (SensorReport) -> Void
        ) throws -> Proof? {
            let script = device.state.withLock { state in
                state.armedCount += 1
                return state.scripts.isEmpty ? ScriptedSensor.waits : state.scripts.removeFirst()
            }
            defer { device.state.withLock { $0.endedCount += 1 } }
            return try script(stop, report)
        }
    }
}

extension SensorStop {
    /// Waits until it is cancelled.
    func wait() {
        let cancelled = DispatchSemaphore(value: 0)
        whenCancelled { cancelled.signal() }
        cancelled.wait()
    }
}
