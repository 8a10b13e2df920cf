import AssociationFiles
import ExactNames
import Glibc
import Prompting
import PromptProtocol
import UnixSocket

/// Asks a domain, in a process of its own.
struct AssociationHelper: Sendable {
    /// The absolute path of `ostiary-association`.
    let program: String
    let server: AssociationServer

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
        guard let bytes = request.bytes, let helper = try? RunningHelper(program, bytes) else { return .helperFailed }
        let verdict = Self.answer(on: helper.channel.number, until: cancellation)
        helper.end()
        return verdict
    }

    private static func answer(on channel: CInt, until cancellation: PromptCancellation) -> AssociationVerdict {
        let deadline = ContinuousClock.now.advanced(by: .milliseconds(Int(milliseconds + stuckMilliseconds)))
        while true {
            let left = ContinuousClock.now.duration(to: deadline) / .milliseconds(1)
            guard left > 0 else { return .timedOut }
            var polled = [
                pollfd(fd: cancellation.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: channel, events: Int16(POLLIN), revents: 0),
            ]
            let count = unsafe poll(&polled, 2, CInt(left) + 1)
            guard cancellation.interruption == nil else { return .helperFailed }
            guard count > 0, polled[1].revents != 0 else { continue }
            // One byte more, so that a longer message is seen as one.
            var bytes: [UInt8] = [0, 0]
            let received = unsafe recv(channel, &bytes, bytes.count, 0)
            if received < 0, errno == EINTR { continue }
            return received == 1 ? AssociationVerdict(rawValue: bytes[0]) ?? .helperFailed : .helperFailed
        }
    }
}

/// A running `ostiary-association`, from this side of its channel. This side does not hold the other end, so it notices the
/// helper's end.
private struct RunningHelper: ~Copyable {
    private let process: ChildProcess
    let channel: Descriptor

    /// Starts it with an environment of our own and exactly its descriptors, and sends the request.
    init(_ program: String, _ request: [UInt8]) throws(SystemCallError) {
        let ends = try ChannelEnds()
        // It is one message and fits into the socket's buffer.
        guard unsafe send(ends.daemon.number, request, request.count, CInt(MSG_NOSIGNAL)) == request.count else {
            throw SystemCallError("send")
        }
        var descriptors = [CInt](repeating: -1, count: AssociationDescriptor.count)
        descriptors[Int(AssociationDescriptor.channel)] = ends.program.number
        process = try ChildProcess(
            program: program, environment: ["SWIFT_BACKTRACE=enable=no", "LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"],
            descriptors: descriptors, leadsSession: true)
        channel = ends.daemon
    }

    /// Ends the helper and all that is in its process group.
    consuming func end() { process.killAndReap(withGroup: true) }
}
