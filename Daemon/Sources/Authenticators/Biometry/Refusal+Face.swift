import OstiaryMessages
import PAMBiometry
import Refusals

extension Refusal {
    /// No face can be looked for, or the attempt decided nothing.
    init(_ failure: PAMFailure) {
        let (cause, words) = Self.reading(failure)
        let code: WireFailureCode = failure == .userUnknown ? .biometryNotEnrolled : .biometryNotAvailable
        self.init(code, words, cause: cause)
    }

    private static func reading(_ failure: PAMFailure) -> (cause: String, words: String) {
        switch failure {
        case .service(let distrust):
            ("biometry.face-service", "The PAM service for faces is not used: \(distrust). `ostiary doctor` says more.")
        case .serviceChanged: ("biometry.face-service", "The PAM service for faces was just changed; try again.")
        case .withoutHelper(nil):
            ("biometry.face-helper", "ostiary-pam cannot be started; install it beside ostiaryd.")
        case .withoutHelper(let reason?): ("biometry.face-helper", "ostiary-pam cannot be started: \(reason).")
        case .helperEnded:
            ("biometry.face-helper", "ostiary-pam ended without a result: the PAM module for faces failed.")
        case .unexpected, .stopped:
            ("biometry.face-helper", "ostiary-pam answered what it should not, so that does not count.")
        case .asked:
            (
                "biometry.face-asked",
                "The PAM module asked for something to be typed. Only modules that look for a face by themselves count."
            )
        case .otherUser:
            ("biometry.face-helper", "ostiary-pam recognises nobody but the user as whom it runs, and that is not you.")
        case .userUnknown: ("biometry.face-not-enrolled", "The PAM module knows no face of yours.")
        case .moduleUnusable: ("biometry.face-module", "The PAM module for faces is missing or cannot be loaded.")
        case .unavailable:
            (
                "biometry.face-unavailable",
                "The PAM module for faces could not decide; it may have found no camera, or may not read what it needs."
            )
        case .timedOut: ("biometry.face-timeout", "The PAM module for faces did not decide in time.")
        }
    }
}
