public import Foundation
public import SecretMemory

/// An enclave that keeps passcodes and counts wrong ones by itself. Nobody takes a counted try back: neither with an older
/// copy of the files, nor with a restart, nor by talking to the chip.
///
/// A passcode comes as a value of 32 bytes that was derived from it (``KeyAuthorization``). A user has at most one.
/// The store keeps a blob of it in the enclave's own format, which is not secret.
public protocol PasscodeEnclave: Enclave {
    /// Sets the passcode of a user; one that the chip has of them is replaced. Keys that require the passcode lie below it
    /// only after ``use(_:of:)``.
    ///
    /// - Parameters:
    ///   - secret: given back to a caller with the passcode. Of a size in ``SealedSecret/byteCounts``.
    ///   - chipOwner: for a chip whose owner has a password.
    /// - Throws: ``EnclaveError/passcodeIndexExchanged`` when another program interfered.
    func makePasscode(
        _ authorization: borrowing SecretBytes, sealing secret: borrowing SecretBytes, of owner: Data,
        as chipOwner: OwnerPassword?
    ) throws(EnclaveError) -> Data

    /// The same passcode, with another secret. The former blob stays good.
    func resealed(_ passcode: Data, with secret: borrowing SecretBytes) throws(EnclaveError) -> Data

    /// Brings a passcode. A wrong one is counted by the chip.
    ///
    /// - Throws: ``EnclaveError/refused`` for a wrong passcode, ``EnclaveError/passcodeBlocked`` when the chip looks at none
    ///   any more, ``EnclaveError/unreadable`` when the chip does not have the passcode of this blob.
    func openPasscode(
        _ passcode: Data, of owner: Data, authorization: borrowing SecretBytes
    ) throws(EnclaveError) -> OpenedPasscode

    /// Gives the passcode another value. All blobs of it, and all keys below it, stay good.
    func changePasscode(
        _ passcode: Data, from former: borrowing SecretBytes, to authorization: borrowing SecretBytes
    ) throws(EnclaveError)

    /// Removes the passcode of a user; without one nothing is done. Keys below it open never again.
    ///
    /// - Parameter chipOwner: for a chip whose owner has a password.
    func removePasscode(of owner: Data, as chipOwner: OwnerPassword?) throws(EnclaveError)

    /// How many wrong passcodes the chip has counted in a row.
    func wrongTries(at passcode: Data) throws(EnclaveError) -> WrongTries

    /// Makes keys of this user that require the passcode below this one from now on; nil: makes none.
    func use(_ passcode: Data?, of owner: Data) throws(EnclaveError)
}

/// The secret and the parent that a passcode opens.
public struct OpenedPasscode: ~Copyable, Sendable {
    /// The secret that was sealed with the passcode.
    public let secret: SecretBytes
    /// Opens keys that require the passcode.
    public let session: any PasscodeSession

    public init(secret: consuming SecretBytes, session: any PasscodeSession) {
        self.secret = secret
        self.session = session
    }
}

/// The chip's count of wrong passcodes.
public struct WrongTries: Equatable, Sendable {
    /// In a row, up to now.
    public let count: UInt32
    /// After this number the chip looks at no passcode any more, not even at the right one.
    public let limit: UInt32

    public init(count: UInt32, limit: UInt32) {
        self.count = count
        self.limit = limit
    }

    public var isBlocked: Bool { count >= limit }
}
