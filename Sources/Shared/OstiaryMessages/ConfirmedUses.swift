public import Foundation

// Uses of a right that confirms each signature. No context keeps an authorization of it: each of these asks the person. Each is
// answered by `WireDone`, and the result is its tail.

/// The tail is the message, at most ``WireLimits/tailByteCount`` bytes, or the digest, as the algorithm says. The daemon shows it
/// to the person. The algorithm is ECDSA with SHA-256, for example `algid:sign:ECDSA:message-X962:SHA256`.
public struct WireConfirmedSignRequest: WireMessage, FieldList {
    public var rightID = Data()
    public var algorithm = ""
    public var question = WireQuestion()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&rightID)
        coder.field(&algorithm)
        coder.field(&question)
    }
}

/// As ``WireAttestRequest``: the tail is the challenge, and the answer's tail the statement.
public struct WireConfirmedAttestRequest: WireMessage, FieldList {
    public var rightID = Data()
    public var question = WireQuestion()

    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {
        coder.field(&rightID)
        coder.field(&question)
    }
}
