import Crypto
public import Enclave
public import Foundation
import SecretMemory

/// The proof that the chip accepted an owner's passcode. It holds the value that the chip asks for when it loads a key which
/// requires the passcode, so keep it only as long as the proof counts.
public struct TPMPasscodeSession: PasscodeSession {
    public let owner: Data
    let passcode: ChipPasscode
    let value: PasscodeValue
    /// From the secret that the chip gave for the passcode: see ``ContextLock``.
    let contextKey: SymmetricKey
}

/// The value of a passcode, wiped with its last reference.
final class PasscodeValue: Sendable {
    let bytes: SecretBytes

    init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
}
