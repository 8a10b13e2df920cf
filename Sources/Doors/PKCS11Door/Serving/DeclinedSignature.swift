import Foundation

/// The signature that the person declined last, for one client.
///
/// Some hosts begin a second operation of their own when C_Sign failed, whatever the reason was: OpenSC's pkcs11-tool does, with the data
/// in parts. Who has just said no must not read the same question again. Everything else is another question.
package struct DeclinedSignature: Sendable {
    /// For so long a repetition counts as the host's, and later as a wish of the person.
    package static let memory: Duration = .seconds(10)

    private let key: ObjectReference
    private let mechanism: SignatureMechanism
    /// Of the input: the message's digest, or what the host gave.
    private let bytes: Data
    private let time: ContinuousClock.Instant

    package init(_ input: SignedInput, by key: ObjectReference, at time: ContinuousClock.Instant) {
        (self.key, self.time) = (key, time)
        (mechanism, bytes) = (input.mechanism, input.bytes)
    }

    /// Whether this is the same signature, soon after the person declined it.
    package func isRepeated(by input: SignedInput, with key: ObjectReference, at now: ContinuousClock.Instant) -> Bool {
        self.key == key && mechanism == input.mechanism && bytes == input.bytes
            && time.duration(to: now) < Self.memory
    }
}
