public import Foundation

/// Sizes of the input for attestations, each with its reason.
public enum AttestationLimits {
    /// A challenge that nobody guesses, up to one that holds a hash and some context.
    public static let challengeByteCounts = 16...1024
    /// A credential for a chip: some 330 bytes for an RSA key of 2,048 bits.
    public static let credentialByteCount = 1024
}

// Attestation of keys by the chip that holds them. The tails are `Documentation/formats/attestation.md`.

/// Answered by ``WireDone``. The tail is the enrolment of this store's attestation key, which is made when there is none. Asks
/// the owner, because it names the machine.
public struct WireEnrollAttestationRequest: WireMessage, FieldList {
    public var question = WireQuestion()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&question)
    }
}

/// The tail is a credential that somebody made for the chip and its attestation key. Answered by ``WireDone``, whose tail is
/// the secret in it.
public struct WireActivateAttestationRequest: WireMessage, FieldList {
    public init() {}
    mutating func fields(_ coder: inout some FieldCoder) {}
}

/// The tail is the challenge. Answered by ``WireDone``, whose tail is the statement on the key of the right. For an enclave
/// key, its id stands in place of the right's.
public struct WireAttestRequest: WireMessage, FieldList {
    public var contextID: UInt64 = 0
    public var rightID = Data()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&contextID)
        coder.field(&rightID)
    }
}
