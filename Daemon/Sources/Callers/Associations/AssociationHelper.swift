import AssociationFiles
import ExactNames
import HelperProcesses
import Logging
import Prompting

/// Asks a domain, in a process of its own.
struct AssociationHelper: Sendable {
    /// How `ostiary-association` is reached.
    let road: HelperRoad
    let server: AssociationServer
    /// A verdict has no room for the reason why there is no helper.
    let log: Logger

    /// The time for the domain's server. The person has not been asked yet, and waits for the question.
    static let milliseconds: UInt32 = 10_000
    /// The helper keeps the time itself. If it exceeds the time by this much, it counts as stuck.
    private static let stuckMilliseconds: UInt32 = 2_000

    /// Blocks until there is a verdict, or `cancellation` ends the wait.
    func verdict(
        on relyingParty: RelyingPartyIdentifier, for applicationID: ExactName, until cancellation: PromptCancellation
    ) -> AssociationVerdict {
        let request = AssociationRequest(
            relyingParty: relyingParty, applicationID: applicationID, server: server, milliseconds: Self.milliseconds)
        guard let bytes = request.bytes else { return .helperFailed }
        let helper: Helper
        do throws(HelperUnavailability) {
            helper = try Helper(
                road, addingToEnvironment: [HelperEnvironment.programFolders], stoppedBy: cancellation.descriptor)
        } catch {
            if error != .stopped {
                log.error("a domain was not asked: ostiary-association is not there", metadata: ["cause": "\(error)"])
            }
            return .helperFailed
        }
        // It is one message and fits into the socket's buffer. A helper that has ended is noticed when its answer is read.
        _ = helper.send(bytes)
        let verdict = Self.answer(of: helper, until: cancellation)
        helper.end()
        return verdict
    }

    private static func answer(
        of helper: borrowing Helper, until cancellation: PromptCancellation
    ) -> AssociationVerdict {
        let deadline = ContinuousClock.now.advanced(by: .milliseconds(Int(milliseconds + stuckMilliseconds)))
        let event = helper.wait(until: deadline, stoppedBy: cancellation.descriptor)
        guard cancellation.interruption == nil else { return .helperFailed }
        switch event {
        case .stopped, .ended: return .helperFailed
        case .timedOut: return .timedOut
        case .message:
            guard case .bytes(let bytes) = helper.receive(atMost: 1) else { return .helperFailed }
            return AssociationVerdict(rawValue: bytes[0]) ?? .helperFailed
        }
    }
}
