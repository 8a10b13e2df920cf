package import Authenticators

/// Fingers and faces, as programs are told of them.
extension Biometry: ObservableBiometry {
    package func sensorState() -> SensorState? { SensorState(state()) }

    package var lastSensorState: SensorState? { lastState.flatMap(SensorState.init) }

    package func whenSensorChanges(_ tell: @escaping @Sendable (_ endsReuse: Bool) -> Void) {
        onChange { tell($0 != .state) }
    }
}

extension SensorState {
    /// One kind stands for all: the finger if one is enrolled in a connected reader, else the face if it is looked for. Whether
    /// the service knows a face is not known before it looks, so one that can be used counts as enrolled. Nil without reader and
    /// service.
    fileprivate init?(_ state: BiometryState) {
        let isFingerEnrolled = state.sensor != nil && state.fingerCount > 0
        if !isFingerEnrolled, let face = state.face, face.isUsable || state.sensor == nil {
            self.init(
                kind: .face, isEnrolled: face.isUsable, unavailability: state.unavailability,
                enrolledSet: state.enrolmentDigest)
        } else {
            guard state.sensor != nil else { return nil }
            self.init(
                kind: .finger, isEnrolled: state.fingerCount > 0, unavailability: state.unavailability,
                enrolledSet: state.enrolmentDigest)
        }
    }
}
