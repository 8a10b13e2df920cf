package import AccessControl
package import ProcessFacts
package import PromptProtocol

/// The leases that one question offers. All are for one session.
package struct LeaseOffers: Sendable {
    package static let none = LeaseOffers([], in: nil)

    package let offers: [LeaseOffer]
    /// Nil where nothing is offered.
    package let session: ProcessSession?

    private init(_ offers: [LeaseOffer], in session: ProcessSession?) {
        (self.offers, self.session) = (offers, session)
    }

    /// - Parameter limits: as of ``LeaseOffer/all(within:)``.
    package init(within limits: GrantLimits?, in session: ProcessSession) {
        self.init(LeaseOffer.all(within: limits), in: session)
    }

    /// For the question.
    package var terms: [PromptTerm] { offers.map(\.term) }

    /// For the question: where the terms count; nil where there is none.
    package var place: PromptTermPlace? {
        guard !offers.isEmpty, let session else { return nil }
        return session.terminalDevice == 0 ? .session : .terminal
    }

    /// The offer that the person chose; nil for an answer that counts once, and for a number that was not offered.
    package func chosen(_ term: Int) -> LeaseOffer? { offers.indices.contains(term - 1) ? offers[term - 1] : nil }
}

/// A lease that a question offers besides an answer that counts once.
package struct LeaseOffer: Equatable, Sendable {
    /// The limits of the lease, with a hard one.
    package let limits: GrantLimits
    /// The same for the person.
    package let term: PromptTerm

    /// Ten minutes: a piece of work that somebody still oversees.
    private static let seconds: UInt32 = 600
    /// As many commits as a long rebase has.
    private static let uses: UInt32 = 20
    /// Uses that were not made within an hour belong to other work.
    private static let secondsOfUses: UInt32 = 3600

    /// The offers for an object, in the order in which a question names them; none where its own limits leave a single use.
    ///
    /// - Parameter limits: those of the object's rule. A lease ends with them, even if it says more. An offer does not promise more.
    package static func all(within limits: GrantLimits?) -> [LeaseOffer] {
        let (hard, uses) = (limits?.hardSeconds ?? .max, limits?.uses ?? .max)
        guard uses > 1 else { return [] }
        let (seconds, count) = (min(Self.seconds, hard), min(Self.uses, uses))
        return [
            offer(.seconds(seconds), hard: seconds, uses: nil),
            offer(.uses(count), hard: min(secondsOfUses, hard), uses: count),
        ].compactMap(\.self)
    }

    private static func offer(_ term: PromptTerm, hard: UInt32, uses: UInt32?) -> LeaseOffer? {
        do { return LeaseOffer(limits: try GrantLimits(hardSeconds: hard, uses: uses), term: term) } catch {
            // Limits of a rule are within the ranges, and so is what is smaller than one of them. Otherwise nothing is offered.
            return nil
        }
    }
}
