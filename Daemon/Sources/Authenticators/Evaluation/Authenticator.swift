package import AccessControl
package import Cancellations
import Foundation
import OstiaryMessages
package import OwnerKeys
package import PromptProtocol
package import Refusals
package import SecretMemory
import Synchronization

/// Something that proves factors: the passcode, an application password, a fingerprint sensor, a security key.
///
/// An authenticator is shared by all evaluations and knows no session. What it does for one of them is a ``FactorAttempt``.
/// The evaluation asks it nothing about factors that it does not name.
package protocol Authenticator: Sendable {
    /// The factors that it proves. Of each factor there is one authenticator.
    var factors: FactorSet { get }

    /// Whether `factor` could be proved now, and if not, why. Never asks anybody and arms nothing.
    ///
    /// - Parameter demand: what it would be proved for; nil for the state of the machine.
    /// - Throws: when that cannot be found out. Nothing is granted then.
    func availability(of factor: Factor, for demand: Demand?) throws -> FactorAvailability.State

    /// What the status says of the factor after ``availability(of:for:)`` was asked; nil for the reason alone.
    func note(on factor: Factor) -> String?

    /// The usual label of a proof; each proof carries its own.
    func strength(of factor: Factor) -> Strength

    /// Throws unless what a proof of `factor` is checked against is in order. Asked before a person is.
    func requireCheckable(_ factor: Factor) throws

    /// What the caller is told when the factor is needed and unavailable for this reason.
    func refusal(of factor: Factor, because reason: Unavailability) throws -> Refusal

    /// Throws when no rule that names `factor` can be made, because nothing could be bound to it.
    func requireBindable(_ factor: Factor) throws(Refusal)

    /// Throws when a rule that cannot be satisfied without `factor` must not be made, because it could never be proved here.
    func requireProvableEver(_ factor: Factor) throws(Refusal)

    /// Begins to prove `factor` for one evaluation. Nothing is shown and nothing is armed yet.
    ///
    /// - Parameter proofs: what the evaluation has in hand; the application password's check needs the keys of the others.
    func begin(_ factor: Factor, for demand: Demand, _ asking: Asking, after proofs: [Proof]) throws -> FactorAttempt
}

extension Authenticator {
    package func note(on factor: Factor) -> String? { nil }
    package func requireCheckable(_ factor: Factor) throws {}
    package func requireBindable(_ factor: Factor) throws(Refusal) {}
    package func requireProvableEver(_ factor: Factor) throws(Refusal) {}

    package func refusal(of factor: Factor, because reason: Unavailability) throws -> Refusal {
        Refusal.unavailable(factor, because: reason)
    }
}

/// What an authenticator does in one evaluation to prove one factor. The kind says which part of the question belongs to it.
package enum FactorAttempt {
    /// It is proved already, with something that the program handed over. Nobody is asked.
    case proved(Proof)
    /// The person types; the question has a field for it.
    case typing(any TypingAttempt)
    /// Devices notice the person, any one of these; the question has a line for each.
    case sensing([any SensingAttempt])
}

/// Checks what the person types.
package protocol TypingAttempt {
    /// What the field asks for.
    var kind: PromptKind { get }
    /// What the next question says after a wrong entry.
    var wrongNotice: DisplayText { get }
    /// Whether the person may choose the program's other way instead of typing.
    var offersFallback: Bool { get }

    /// What further wrong entries bring; nil if there was none since the last right one.
    func outlook() throws -> MissOutlook?

    /// Throws unless an entry could be checked now: nobody types what a delay would refuse.
    func requireNoDelay() throws

    /// The same, right before the person is asked.
    func requireReady() throws

    /// Checks an entry.
    ///
    /// - Throws: ``WrongSecret`` for one that does not fit.
    func prove(_ entered: borrowing SecretBytes) throws -> Proof
}

/// Waits for a person at a device. Used by several threads.
package protocol SensingAttempt: AnyObject, Sendable {
    /// What the question shows when it is put: the device's state now.
    var sensor: PromptSensor { get }

    /// Arms the device and waits until it recognised the person.
    ///
    /// It runs on a thread of its own and begins when the question is visible. `stop` is cancelled when the question has ended,
    /// by an answer or in another way: the device must then be disarmed and this return soon. A proof that comes after that does
    /// not count. When the question is put again, after a wrong entry for instance, this is called again.
    ///
    /// - Parameters:
    ///   - report: tells the person what the device says, from any thread.
    ///   - proved: takes the proof, on this thread, when the device is disarmed; not called when it was cancelled, which is no
    ///     failed try. The question ends with it, so later work, such as giving a reader back, delays nobody. An
    ///     error that it throws is passed on.
    /// - Throws: when the device can prove nothing more in this evaluation, after too many misses or unplugged. It is not
    ///   called again then. The question stays for what else it offers.
    func prove(
        until stop: Cancellation, reporting report: @escaping @Sendable (SensorReport) -> Void,
        _ proved: (Proof) throws -> Void
    ) throws

    /// Goes on after ``SensorNeedsAnswer``, on the evaluation's thread: the question has ended, and no other sensor waits.
    ///
    /// - Parameters:
    ///   - questioning: puts questions of the sensor's own.
    ///   - question: the question that the person was asked before.
    ///   - onMiss: called for each failed try.
    /// - Throws: ``SensorFailure`` when the device can prove nothing more in this evaluation, which goes on with its other
    ///   authenticators; any other error ends the evaluation.
    func proof(
        _ questioning: Questioning, after question: PromptQuestion, onMiss: @escaping @Sendable () -> Void
    ) throws -> Proof

    /// The evaluation uses the proof of ``prove(until:reporting:_:)``. A proof that comes too late is never used.
    ///
    /// - Throws: when the proof must not be used after all.
    func proofWasTaken() throws
}

extension TypingAttempt {
    package func requireReady() throws { try requireNoDelay() }
}

extension SensingAttempt {
    package func proof(
        _ questioning: Questioning, after question: PromptQuestion, onMiss: @escaping @Sendable () -> Void
    ) throws -> Proof { throw Refusal(.internal, "The sensor has nothing to ask.") }

    package func proofWasTaken() throws {}
}

/// The person has chosen the device, and it needs an answer in a question of its own, such as the PIN of a security key.
package struct SensorNeedsAnswer: Error {
    package init() {}
}

/// The device can prove nothing more in this evaluation.
package struct SensorFailure: Error {
    package let refusal: Refusal

    package init(_ refusal: Refusal) { self.refusal = refusal }
}

/// What a device says while it waits.
package struct SensorReport: Sendable {
    package let text: DisplayText
    /// Whether it saw somebody whom it did not recognise: a failed try, which the log records.
    package var isMiss = false

    package init(text: DisplayText, isMiss: Bool = false) {
        self.text = text
        self.isMiss = isMiss
    }
}
