import AssociationFiles
import Authenticators
import Callers
import ExactNames
import OstiaryMessages
import Prompting
import Refusals
import Synchronization

/// Bounds the domains that are asked at once. Each is asked by a process of its own, which lasts as long as the domain's server
/// takes, and that can be a server of the program's own. A program has a share, and so have the programs of one owner together, so that
/// others can still sign in.
final class AssociationLookups: Sendable {
    private let associations: Associations
    private let shares: Mutex<ProgramShares>

    init(_ associations: Associations, _ limits: ShareLimits) {
        self.associations = associations
        shares = Mutex(ProgramShares(limits))
    }

    /// Says whether `relyingParty` confirms the program. Blocks while the domain is asked, which alone takes a share.
    ///
    /// - Parameters:
    ///   - applicationID: the name under which the program is registered.
    ///   - program: the program as it is counted.
    ///   - now: CLOCK_BOOTTIME.
    ///   - cancellation: ends the wait.
    /// - Throws: `tooMany` when the program, its owner's programs or all programs ask as many domains as they may.
    func verdict(
        on relyingParty: RelyingPartyIdentifier, for applicationID: ExactName, of program: ProgramOfOwner,
        at now: Duration, until cancellation: PromptCancellation
    ) throws(Refusal) -> AssociationVerdict {
        let known = associations.knownVerdict(on: relyingParty, for: applicationID, of: program.owner, at: now)
        if let known { return known }
        try shares.withLock { (shares) throws(Refusal) in try shares.take(for: program, refusing: Self.refusals) }
        defer { shares.withLock { $0.giveBack(program) } }
        return associations.askDomain(
            relyingParty, about: applicationID, of: program.owner, at: now, until: cancellation)
    }

    private static let refusals = ShareRefusals(
        program: { count in
            Refusal(
                .tooMany,
                "\(count) requests of this program wait for the answer of a domain already; try again when one has ended.",
                cause: "association.too-many-of-program")
        },
        owner: { count in
            Refusal(
                .tooMany,
                "\(count) requests of this user's programs wait for the answer of a domain already; try again when one has "
                    + "ended.", cause: "association.too-many-of-owner")
        },
        total: Refusal(
            .tooMany, "Too many requests of all programs wait for the answer of a domain already; try again.",
            cause: "association.too-many-in-all"))
}
