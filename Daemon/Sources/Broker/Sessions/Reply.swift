import OstiaryMessages
import SecretMemory

/// What a request is answered with when it is carried out.
struct Reply: ~Copyable {
    let body: WireReply.OneOf_Body
    let tail: SecretBytes

    init(_ body: WireReply.OneOf_Body, tail: consuming SecretBytes = SecretBytes(zeroed: 0)) {
        self.body = body
        self.tail = tail
    }

    /// Carried out, with nothing to hand over.
    static var done: Reply { Reply(.done(WireDone())) }

    /// Carried out; what was asked for is the tail.
    static func payload(_ tail: consuming SecretBytes) -> Reply { Reply(.done(WireDone()), tail: tail) }
}
