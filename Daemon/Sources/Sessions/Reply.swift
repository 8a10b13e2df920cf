package import OstiaryMessages
package import SecretMemory

/// The answer to a request that was carried out.
package struct Reply: ~Copyable {
    let body: WireReply.OneOf_Body
    let tail: SecretBytes

    package init(_ body: WireReply.OneOf_Body, tail: consuming SecretBytes = SecretBytes(zeroed: 0)) {
        self.body = body
        self.tail = tail
    }

    /// Carried out, with nothing to hand over.
    package static var done: Reply { Reply(.done(WireDone())) }

    /// Carried out; the tail holds the requested bytes.
    package static func payload(_ tail: consuming SecretBytes) -> Reply { Reply(.done(WireDone()), tail: tail) }
}
