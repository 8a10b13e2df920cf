package import Refusals

/// Carries out the requests of sessions.
package protocol RequestHandler: AnyObject, Sendable {
    /// Carries out one admitted request.
    func answer(_ exchange: Exchange) throws(NotAnswered) -> Reply

    /// The refusal that a program of the user gets for an error that no handler threw.
    func refusal(for error: any Error, ofUser userID: UInt32) -> Refusal
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

/// Work that spans several requests of one connection. Only its handler knows it.
package protocol SessionAttachment: AnyObject, Sendable {
    /// The connection has ended, and none of its requests runs any more.
    func sessionHasEnded()
}

/// A list whose pages a program reads one by one. Only its handler knows the listed objects.
package protocol KeptListing: Sendable {}
