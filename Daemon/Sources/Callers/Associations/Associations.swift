package import AssociationFiles
package import ExactNames
package import HelperProcesses
package import Logging
package import Prompting
import Synchronization

/// Knows which domains confirm which programs.
///
/// The administrator's file counts before the domain's own. A domain's yes counts for some time, so that a sign-in does not wait
/// for the network each time; a no is asked for again. A yes to the program of one owner does not count for another owner.
package final class Associations: Sendable {
    /// How long a domain's yes counts: as long as on Apple's systems.
    package static let lifetime: Duration = .seconds(24 * 3600)

    private let administrator: AdministratorAssociations
    private let helper: AssociationHelper
    private let confirmed = Mutex(ConfirmedAssociations())

    /// - Parameters:
    ///   - helper: how `ostiary-association` is reached.
    ///   - folder: the administrator's folder.
    ///   - trustedUserID: the user to whom the administrator's files must belong; root, except in tests.
    ///   - server: where the files are fetched, in tests.
    ///   - log: where a helper that cannot be started is told.
    package init(
        _ helper: HelperRoad, folder: String, trustedUserID: UInt32 = 0,
        server: AssociationServer = AssociationServer(), log: Logger = Logger(label: "ostiaryd")
    ) {
        administrator = AdministratorAssociations(folder: folder, trustedUserID: trustedUserID)
        self.helper = AssociationHelper(road: helper, server: server, log: log)
    }

    /// The verdict of the administrator's file, or of a remembered yes; nil when the domain must be asked.
    ///
    /// - Parameters:
    ///   - owner: whose program it is.
    ///   - now: CLOCK_BOOTTIME.
    package func knownVerdict(
        on relyingParty: RelyingPartyIdentifier, for applicationID: ExactName, of owner: OwnerID?, at now: Duration
    ) -> AssociationVerdict? {
        if let verdict = administrator.verdict(on: relyingParty, for: applicationID) { return verdict }
        let subject = ConfirmedAssociations.Subject(
            owner: owner, relyingParty: relyingParty, applicationID: applicationID)
        return confirmed.withLock { $0.contains(subject, at: now) } ? .associated : nil
    }

    /// Asks the domain whether it confirms the program, and remembers a yes. To be called where ``knownVerdict(on:for:of:at:)`` is
    /// nil. Blocks until the domain's server has answered or its time is over.
    ///
    /// - Parameters:
    ///   - owner: whose program it is.
    ///   - now: CLOCK_BOOTTIME.
    ///   - cancellation: ends the wait.
    package func askDomain(
        _ relyingParty: RelyingPartyIdentifier, about applicationID: ExactName, of owner: OwnerID?, at now: Duration,
        until cancellation: PromptCancellation
    ) -> AssociationVerdict {
        let verdict = helper.verdict(on: relyingParty, for: applicationID, until: cancellation)
        if verdict == .associated {
            let subject = ConfirmedAssociations.Subject(
                owner: owner, relyingParty: relyingParty, applicationID: applicationID)
            confirmed.withLock { $0.insert(subject, at: now) }
        }
        return verdict
    }
}
