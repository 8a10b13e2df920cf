// This machine as an authenticator of CTAP 2.1, for programs that are registered as browsers.

/// One command of CTAP. The tail is its bytes, 1 to ``WireLimits/authenticatorCommandByteCount``. Answered by ``WireDone``, whose tail
/// is the answer: a status byte, and CBOR if the command has an answer. What a command prepares for the next ones, such as a token,
/// belongs to the connection.
public struct WireAuthenticatorCommandRequest: WireMessage, FieldList {
    public init() {}

    mutating func fields(_ coder: inout some FieldCoder) {}
}
