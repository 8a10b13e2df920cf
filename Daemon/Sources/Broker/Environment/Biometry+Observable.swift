import Authenticators

/// Fingers, as programs are told of them.
extension Biometry: ObservableBiometry {
    package func sensorState() -> SensorState? { SensorState(state()) }

    package var lastSensorState: SensorState? { lastState.flatMap(SensorState.init) }

    package func whenSensorChanges(_ tell: @escaping @Sendable (_ isAnotherSet: Bool) -> Void) {
        onChange { tell($0 == .enrolledSet) }
    }
}

extension SensorState {
    /// Nil without a reader.
    fileprivate init?(_ state: BiometryState) {
        guard state.sensor != nil else { return nil }
        self.init(
            kind: .finger, isEnrolled: state.fingerCount > 0, unavailability: state.obstacle?.unavailability,
            enrolledSet: state.enrolmentDigest)
    }
}
