import Cancellations
import HelperProcesses
import PAMProtocol

/// A running `ostiary-pam`, from this side of its channel.
struct PAMProcess: ~Copyable {
    private let helper: Helper

    /// Starts it with an environment of our own, and sends the request.
    init(
        _ road: HelperRoad, systemBus: String, _ request: PAMRequest, until stop: PollableCancellation
    ) throws(PAMFailure) {
        guard let bytes = request.bytes else { throw .withoutHelper(reason: "the request is too long") }
        do throws(HelperUnavailability) {
            let bus = "DBUS_SYSTEM_BUS_ADDRESS=unix:path=\(systemBus)"
            helper = try Helper(
                road, addingToEnvironment: [HelperEnvironment.programFolders, bus], stoppedBy: stop.descriptor)
        } catch { throw error == .stopped ? .stopped : .withoutHelper(reason: "\(error)") }
        // It is one message and fits into the socket's buffer. A helper that has ended is noticed when its report is read.
        _ = helper.send(bytes)
    }

    /// Waits for the helper's next report.
    borrowing func nextReport(
        until deadline: ContinuousClock.Instant, _ stop: PollableCancellation
    ) throws(PAMFailure) -> PAMReport {
        let event = helper.wait(until: deadline, stoppedBy: stop.descriptor)
        if stop.isCancelled { throw .stopped }
        switch event {
        case .stopped: throw .stopped
        case .timedOut: throw .timedOut
        case .ended: throw .helperEnded
        case .message: break
        }
        switch helper.receive(atMost: PAMReport.maximumByteCount) {
        case .ended: throw .helperEnded
        case .tooLong: throw .unexpected
        case .bytes(let bytes):
            guard let report = PAMReport(decoding: bytes) else { throw .unexpected }
            return report
        }
    }

    /// Ends the helper and everything that its module has started in its process group.
    consuming func end() { helper.end() }
}
