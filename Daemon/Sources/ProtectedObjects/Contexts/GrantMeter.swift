package import AccessControl
package import Foundation
import OstiaryMessages
package import Refusals
package import Vault

/// The time and the uses of one grant, against its limits. Times are on the boot clock, which counts suspend and which nobody
/// can set. Pure.
struct GrantMeter: Equatable, Sendable {
    let limits: GrantLimits
    /// When it was proved.
    let since: Duration
    private(set) var lastUse: Duration
    /// Stays at its greatest number, which no limit is above.
    var useCount: UInt32 = 0

    init(_ limits: GrantLimits, since: Duration) {
        self.limits = limits
        (self.since, lastUse) = (since, since)
    }

    /// When it ends unless it is used before; nil when no limit of time applies.
    var end: Duration? { [idleEnd, hardEnd].compactMap(\.self).min() }

    /// Nil when the uses are not limited.
    var usesLeft: UInt32? { limits.uses.map { $0 - min($0, useCount) } }

    /// What has ended it; nil while it stands.
    func end(at now: Duration) -> GrantEnd? {
        if usesLeft == 0 { return .usedUp }
        guard let end, now >= end else { return nil }
        return end == hardEnd ? .expired : .expiredIdle
    }

    /// Counts a use. Throws what has ended the grant before it.
    mutating func use(at now: Duration) throws(GrantEnd) {
        if let end = end(at: now) { throw end }
        noteUse(at: now)
    }

    /// Counts a use of a grant that stands.
    mutating func noteUse(at now: Duration) {
        lastUse = now
        if useCount < .max { useCount += 1 }
    }

    var idleEnd: Duration? { limits.idleSeconds.map { lastUse + .seconds($0) } }
    var hardEnd: Duration? { limits.hardSeconds.map { since + .seconds($0) } }
}

/// Why a grant is no more although the program did not give it back. The raw values are the causes of refusals and the reasons in the
/// log.
package enum GrantEnd: String, Error, Sendable {
    case expiredIdle = "grant.expired-idle"
    case expired = "grant.expired"
    case usedUp = "grant.used-up"
    case revoked = "grant.revoked"

    package var refusal: Refusal {
        let what =
            switch self {
            case .expiredIdle: "The authorization was not used for as long as its limit permits"
            case .expired: "The authorization has reached its age limit"
            case .usedUp: "The authorization has no use left"
            case .revoked: "The owner has ended the authorization"
            }
        return Refusal(.notAuthorized, "\(what); authorize again.", cause: rawValue)
    }
}

/// What limits belong to: an object, or a requirement that backs none.
package enum GrantSubject: Hashable, Sendable {
    case object(VaultID)
    /// Its canonical bytes.
    case requirement(Data)
}

/// The limits of a subject; none where a proof counts for as long as its context keeps it.
package struct LimitedSubject: Sendable {
    package let subject: GrantSubject
    package let limits: GrantLimits?

    package init(_ subject: GrantSubject, _ limits: GrantLimits?) {
        self.subject = subject
        self.limits = limits
    }
}

/// A grant that ended by a limit or by the owner's order.
package struct EndedGrant: Sendable {
    /// The object's name; empty for a requirement.
    package let object: String
    package let end: GrantEnd
}
