import AssociationFiles
import ExactNames
import HelperProcesses
import Logging
import Prompting
import Synchronization

/// Asks a domain, in a process of its own.
final class AssociationHelper: Sendable {
    private let road: HelperRoad
    private let server: AssociationServer
    /// A verdict has no room for the reason why there is no helper.
    private let log: Logger
    /// Why there was no helper the last time; nil if there was one. The log is told once as long as the reason stays the same: a program in
    /// a loop would fill it.
    private let told = Mutex<HelperUnavailability?>(nil)

    /// - Parameter road: how `ostiary-association` is reached.
    init(road: HelperRoad, server: AssociationServer, log: Logger) {
        (self.road, self.server, self.log) = (road, server, log)
    }

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
            if error != .stopped { tell(error) }
            return .helperFailed
        }
        told.withLock { $0 = nil }
        // It is one message and fits into the socket's buffer. A helper that has ended is noticed when its answer is read.
        _ = helper.send(bytes)
        let verdict = Self.answer(of: helper, until: cancellation)
        helper.end()
        return verdict
    }

    private func tell(_ reason: HelperUnavailability) {
        let isNew = told.withLock { told in
            defer { told = reason }
            return told != reason
        }
        guard isNew else { return }
        log.error("a domain was not asked: ostiary-association is not there", metadata: ["cause": "\(reason)"])
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
