package import Cancellations
package import SecretMemory

/// Makes and uses credentials of relying parties: security keys, and this machine itself.
///
/// Its calls block until the person has answered, on threads that the caller gives.
package protocol CredentialAuthenticator: Sendable {
    /// The same authenticator for another user than that of this process, unless the number is nil.
    func presented(to userID: UInt32?) -> Self

    /// - Parameters:
    ///   - question: what the person sees while this runs.
    ///   - cancellation: ends the call, which then throws ``CredentialRefusal/cancelled``.
    func create(
        _ creation: CredentialCreation, with question: any CredentialQuestion,
        until cancellation: Cancellation
    ) throws -> CreatedCredential

    /// Told after ``create(_:with:until:)`` returned. Credentials that the new one replaces go only when its program has got it,
    /// because until then the relying party knows no other ones.
    ///
    /// - Parameter isReleased: whether the program gets the new credential. If not, nobody ever will.
    func finishCreation(isReleased: Bool) throws

    /// As ``create(_:with:until:)``, for a signature.
    func assert(
        _ assertion: CredentialAssertion, with question: any CredentialQuestion,
        until cancellation: Cancellation
    ) throws -> AssertedCredential
}

extension CredentialAuthenticator {
    /// An authenticator of one user, and of nobody else.
    package func presented(to userID: UInt32?) -> Self { self }

    /// Nothing for a security key, which replaces a credential while it makes another one.
    package func finishCreation(isReleased: Bool) {}
}

/// The visible question of one creation or assertion: relying party, program and account stand in it already.
package protocol CredentialQuestion: Sendable {
    /// Shows what the person must do now. Never waits.
    func show(_ step: CredentialStep)

    /// Asks for the PIN of a security key, in a question of its own, and waits.
    ///
    /// - Throws: ``CredentialRefusal/cancelled``.
    func pin(for device: String, triesLeft: Int?, isNew: Bool, wasWrong: Bool) throws -> SecretBytes

    /// Asks whether the person insists on the last try of a PIN, after which only a reset opens the key, and waits.
    ///
    /// - Throws: ``CredentialRefusal/cancelled``.
    func insists(onLastPINTryOf device: String) throws -> Bool

    /// Lets the person choose one of several accounts, and waits.
    ///
    /// - Returns: an index in `accounts`.
    /// - Throws: ``CredentialRefusal/cancelled``.
    func choose(among accounts: [CredentialUser]) throws -> Int
}

extension CredentialQuestion {
    /// Nobody is asked, and nobody insists.
    package func insists(onLastPINTryOf device: String) throws -> Bool { false }
}

package enum CredentialStep: Sendable, Equatable {
    /// No security key is plugged in.
    case insert
    /// The same, at a machine that has a card reader too. With `isLying` a card lies at the reader since before the question: it
    /// counts only when the person holds it there again.
    case insertOrHold(isLying: Bool)
    /// A key is plugged in, and another question uses it.
    case waiting
    /// The person holds a key at the reader of this name.
    case hold(device: String)
    /// The person touches a key; its name as it says it, nil for any of several.
    case touch(device: String?)
    /// The person puts a finger on the sensor of the key.
    case verifyOnDevice(device: String, triesLeft: Int?)
    case working
}

/// Why an authenticator made or signed nothing.
package enum CredentialRefusal: Error, Sendable, Equatable {
    /// The person or the program ended it.
    case cancelled
    case timedOut
    /// The authenticator holds one of the excluded credentials.
    case excluded
    /// It holds none of the allowed credentials.
    case noCredential
    case unsupportedAlgorithm
    /// It cannot do what was required: `what` names it, for example `largeBlob`.
    case unsupported(what: String)
    case pinNotSet
    /// No try is left until the key is reset.
    case pinBlocked
    /// One try is left, and the person did not insist on it.
    case lastPINTry
    /// No try is left until the key is unplugged and plugged in again.
    case pinTemporarilyBlocked
    case userVerificationBlocked
    case storageFull
    /// The key was unplugged in the middle.
    case removed
    /// An answer that breaks the specification.
    case malformedAnswer
    /// The program that talks to devices ended or could not be started.
    case helperFailed(reason: String)
    /// Another refusal, by its CTAP status byte.
    case refused(status: UInt8)
}
