import Broker
import OwnerKeys
import Synchronization

/// Stretches cheaply, and runs something in the middle of it when told to.
final class Meeting: Sendable {
    private let interlude = Mutex<(@Sendable () -> Void)?>(nil)

    func duringNextStretch(_ body: @escaping @Sendable () -> Void) { interlude.withLock { $0 = body } }

    func runInterlude() { interlude.withLock { $0.take() }?() }

    var stretching: PasscodeStretching {
        PasscodeStretching { [self] entry, salt, parameters in
            runInterlude()
            return try PasscodeStretching.quick.stretch(entry, salt: salt, parameters: parameters, as: .daemon)
        }
    }
}
