package import Authenticators
package import Cancellations
import Crypto
package import EnrolledTemplates
package import FingerprintReader
import Foundation
import Glibc
import PromptProtocol
import Synchronization
import UnixSocket

/// A fingerprint reader that is touched by order, and the fingers that are enrolled.
package final class SimulatedReader: Sendable {
    private struct State {
        var isConnected = true
        /// The number of the finger that is enrolled under each name. No number comes twice.
        var templates: [Finger: UInt64] = [:]
        var templateCount: UInt64 = 0
        var isClaimed = false
        /// How often the reader was armed.
        var armedCount: UInt64 = 0
        var armed: ArmedTouch?
    }

    private let state = Mutex(State())

    package init() {}

    // MARK: the fingers

    /// Enrols a finger, another one than any before it.
    package func enroll(_ finger: Finger) {
        state.withLock { state in
            state.templateCount += 1
            state.templates[finger] = state.templateCount
        }
    }

    /// False when it is not enrolled.
    package func delete(_ finger: Finger) -> Bool {
        state.withLock { $0.templates.removeValue(forKey: finger) != nil }
    }

    // MARK: events at the reader

    /// Plugs it in or out. A wait for a touch ends without one.
    package func connect(_ isConnected: Bool) {
        let armed = state.withLock { state in
            state.isConnected = isConnected
            return isConnected ? nil : state.armed.take()
        }
        armed?.end(with: .unplugged)
    }

    /// Touches the reader, which must be armed; nil for a finger that is not enrolled. False when it is not armed.
    func touch(_ finger: Finger?) -> Bool {
        let (armed, isKnown) = state.withLock { state in
            (state.armed.take(), finger.map { state.templates[$0] != nil } ?? false)
        }
        armed?.end(with: .touched(isRecognized: isKnown))
        return armed != nil
    }

    /// How often the reader was armed, and whether it waits for a touch.
    var arming: (count: UInt64, isArmed: Bool) { state.withLock { ($0.armedCount, $0.armed != nil) } }

    var isClaimed: Bool { state.withLock { $0.isClaimed } }
}

extension SimulatedReader: FingerSensor {
    private static let description = ReaderDescription(
        path: "/simulated/reader", name: "Simulated Fingerprint Reader", scanType: .press)

    /// None: an ordered touch is over at once.
    package var pauseBetweenQuestions: Duration { .zero }

    package func readerState() -> ReaderState {
        state.withLock { state in
            guard state.isConnected else { return .unusable(.withoutReader) }
            let fingers = Finger.allCases.filter { state.templates[$0] != nil }
            return fingers.isEmpty ? .nothingEnrolled(Self.description) : .ready(Self.description, fingers)
        }
    }

    package func withTouches<Result>(
        until stop: PollableCancellation, _ body: (TouchWait) throws(ReaderFailure) -> Result
    ) throws(ReaderFailure) -> Result {
        let isConnected = state.withLock { state in
            state.isClaimed = state.isConnected
            return state.isConnected
        }
        guard isConnected else { throw .withoutReader }
        defer { state.withLock { $0.isClaimed = false } }
        return try body { (_, report) throws(ReaderFailure) in try waitForTouch(until: stop, report) }
    }

    private func waitForTouch(
        until stop: PollableCancellation, _ report: (ClaimedReader.VerificationEvent) -> Void
    ) throws(ReaderFailure) -> ClaimedReader.VerificationResult {
        guard let touch = try? ArmedTouch() else { throw .readerFault }
        let isConnected = state.withLock { state in
            guard state.isConnected else { return false }
            state.armedCount += 1
            state.armed = touch
            return true
        }
        guard isConnected else { throw .disconnected }
        defer { state.withLock { if $0.armed === touch { $0.armed = nil } } }
        report(.armed)
        switch touch.wait(until: stop) {
        case .touched(let isRecognized): return isRecognized ? .match : .noMatch
        case .unplugged: throw .disconnected
        case nil: throw .stopped
        }
    }
}

extension SimulatedReader: EnrolledSetSource {
    package func enrolledSet() -> EnrolledSet {
        let templates = state.withLock { $0.templates }
        guard !templates.isEmpty else { return .none }
        let lines = templates.map { "\($0.key.rawValue) \($0.value)" }.sorted().joined(separator: "\n")
        return .digest(Array(SHA256.hash(data: Data(lines.utf8))))
    }

    /// Nothing is followed: the simulator looks after each change that it makes.
    package func followEnrolledSet(
        _ tell: @escaping @Sendable (EnrolledSet) -> Void
    ) -> any EnrolledSetFollower { IdleFollower() }

    private final class IdleFollower: EnrolledSetFollower {
        func stop() {}
    }
}

/// One wait for a touch.
private final class ArmedTouch: Sendable {
    enum End: Sendable {
        case touched(isRecognized: Bool)
        case unplugged
    }

    private let end = Mutex<End?>(nil)
    private let signal: PipeEnds

    init() throws(SystemCallError) { signal = try PipeEnds() }

    /// Only the first end counts.
    func end(with end: End) {
        let isFirst = self.end.withLock { present in
            guard present == nil else { return false }
            present = end
            return true
        }
        guard isFirst else { return }
        var byte: UInt8 = 1
        while unsafe write(signal.writer.number, &byte, 1) < 0, errno == EINTR {}
    }

    /// Nil when it was stopped.
    func wait(until stop: PollableCancellation) -> End? {
        var polled = [
            pollfd(fd: signal.reader.number, events: Int16(POLLIN), revents: 0),
            pollfd(fd: stop.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        while unsafe poll(&polled, nfds_t(polled.count), -1) < 0, errno == EINTR {}
        return end.withLock { $0 }
    }
}
