package import OstiaryMessages
package import Refusals
package import SecretMemory

/// Carries out the requests of sessions.
package protocol RequestHandler: AnyObject, Sendable {
    /// Carries out one admitted request.
    func answer(_ exchange: Exchange) throws(NotAnswered) -> Reply

    /// The refusal that a program gets for an error that no handler threw.
    func refusal(for error: any Error) -> Refusal
}

/// Why a request has no reply.
package enum NotAnswered: Error {
    case refused(Refusal)
    /// As ``PersonNeeded``.
    case personNeeded
    /// As ``OwnThreadNeeded``.
    case ownThreadNeeded
    /// As ``LeftWaiting``.
    case leftWaiting
}

/// A list whose pages a program reads one by one. Only its handler knows the listed objects.
package protocol KeptListing: Sendable {}

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
