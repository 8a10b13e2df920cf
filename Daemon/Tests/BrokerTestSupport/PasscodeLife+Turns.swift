import Foundation
import KeySlots
import OwnerKeys
import SecretMemory

/// As the daemon does it for itself: with a turn at stretching, and without a request.
extension PasscodeLife {
    func set(_ passcode: borrowing SecretBytes, _ change: PasscodeChange, since era: UInt64) throws -> PrivateHalf {
        let chosen = SecretBytes(copying: passcode)
        return try keeper.exclusively.withStretchTurn(as: .daemon) { turn in
            try set(chosen, change, since: era, in: turn)
        }
    }

    func change(
        _ proved: ProvedPasscode, to passcode: borrowing SecretBytes, _ change: PasscodeChange, since era: UInt64
    ) throws -> PrivateHalf {
        let chosen = SecretBytes(copying: passcode)
        return try keeper.exclusively.withStretchTurn(as: .daemon) { turn in
            try self.change(proved, to: chosen, change, since: era, in: turn)
        }
    }
}
