import AccessControl
import Cancellations
import Dispatch
import Foundation
import KeySlots
import Owners
import PromptProtocol
import Synchronization

@testable import Authenticators
@testable import Broker

/// A device that does what a test says each time it is armed.
final class ScriptedSensor: Authenticator {
    /// What it does when it is armed: waits until it is told to stop, unless the test says otherwise.
    typealias Script = @Sendable (Cancellation, @Sendable (SensorReport) -> Void) throws -> Proof?

    let factors: FactorSet
    private let label: Strength
    private let kind: PromptSensor.Kind
    private let state = Mutex(State())

    private struct State {
        var scripts: [Script] = []
        var unavailability: Unavailability?
        var key: (@Sendable () -> PrivateHalf?)?
        var armedCount = 0
        var endedCount = 0
        var enrolledSet: Data?
        var isConnected = true
        var lookCount = 0
        var tell: (@Sendable (Bool) -> Void)?
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

    /// Gives proofs of biometry this key, as a real reader's have it.
    func give(_ key: @escaping @Sendable () -> PrivateHalf?) { state.withLock { $0.key = key } }

    /// Without telling anybody.
    func makeUnavailable(_ reason: Unavailability?) { state.withLock { $0.unavailability = reason } }

    /// Another set is enrolled, and whoever wants to know is told.
    func enrol(_ set: String?) {
        change {
            ($0.enrolledSet, $0.unavailability) = (set.map { Data($0.utf8) }, set == nil ? .biometryNotEnrolled : nil)
        }
    }

    func lockOut() { change { $0.unavailability = .biometryLockout } }

    func plug(_ isConnected: Bool) {
        change { ($0.isConnected, $0.unavailability) = (isConnected, isConnected ? nil : .biometryNotAvailable) }
    }

    private func change(_ change: (inout State) -> Void) {
        let tell = state.withLock { state in
            change(&state)
            return state.tell
        }
        tell?(false)
    }

    /// How often somebody asked what the sensor is now.
    var lookCount: Int { state.withLock { $0.lookCount } }
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
            _ = gate.wait(timeout: .now() + 120)
            return Proof(factor: .biometry, strength: .brokerBound)
        }
    }

    // MARK: Authenticator

    func availability(of factor: Factor, for demand: Demand?) -> FactorAvailability.State {
        state.withLock { $0.unavailability }.map { .unavailable($0) } ?? .available
    }

    func strength(of factor: Factor) -> Strength { label }

    func begin(_ factor: Factor, for demand: Demand, _ asking: Asking, after proofs: [Proof]) -> FactorAttempt {
        .sensing([Attempt(sensor: PromptSensor(kind, DisplayText("Touch the sensor.")), of: self)])
    }

    private final class Attempt: SensingAttempt {
        let sensor: PromptSensor
        private let device: ScriptedSensor

        init(sensor: PromptSensor, of device: ScriptedSensor) {
            self.sensor = sensor
            self.device = device
        }

        func prove(
            until stop: Cancellation, reporting report: @escaping @Sendable (SensorReport) -> Void,
            _ proved: (Proof) throws -> Void
        ) throws {
            let script = device.state.withLock { state in
                state.armedCount += 1
                return state.scripts.isEmpty ? ScriptedSensor.waits : state.scripts.removeFirst()
            }
            let end = Result { try script(stop, report) }
            device.state.withLock { $0.endedCount += 1 }
            guard var proof = try end.get() else { return }
            if proof.factor == .biometry { proof.half = device.state.withLock { $0.key }?() }
            try proved(proof)
        }
    }
}

extension Cancellation {
    /// Waits until it is cancelled.
    func wait() {
        let cancelled = DispatchSemaphore(value: 0)
        whenCancelled { cancelled.signal() }
        cancelled.wait()
    }
}

extension ScriptedSensor: ObservableBiometry {
    func sensorState() -> SensorState? {
        state.withLock { $0.lookCount += 1 }
        return lastSensorState
    }

    var lastSensorState: SensorState? {
        state.withLock { state in
            guard state.isConnected else { return nil }
            return SensorState(
                kind: .finger, isEnrolled: state.unavailability != .biometryNotEnrolled,
                unavailability: state.unavailability, enrolledSet: state.enrolledSet)
        }
    }

    func whenSensorChanges(_ tell: @escaping @Sendable (_ endsReuse: Bool) -> Void) {
        state.withLock { $0.tell = tell }
    }
}
